// The page's side of the bridge. One message is under way at a time: what happens meanwhile is collected and sent
// when the reply is there, so that a slider never leaves a queue behind.

const el = (id) => document.getElementById(id)
const all = (selector) => [...document.querySelectorAll(selector)]
const POLL = 200 // ms between two looks at a run
const PATIENCE = 15000 // ms after which a reply counts as lost
const IDLE = 250 // ms of rest before slower things are asked for

export function render({model}) {
  let serial = 0
  let waiting = false
  let lost = null
  let changes = {}
  const queue = []
  let query = ""
  let draft = false
  let resting = null
  let polling = null
  let running = false
  const open = () => (el("training").hidden ? "explore" : "train")

  // --- messages -----------------------------------------------------------------------------------------------------
  function send(message) {
    queue.push(message)
    next()
  }

  function change(name, value) {
    changes[name] = value
    next()
  }

  function next() {
    if (waiting) return
    let message = queue.shift()
    if (message === undefined) {
      if (Object.keys(changes).length === 0) return
      message = {kind: "change", changes}
      changes = {}
    }
    waiting = true
    serial += 1
    lost = setTimeout(() => { waiting = false; next() }, PATIENCE)
    model.send_msg({...message, serial, tab: open(), dark: dark()})
  }

  model.on("msg:custom", (reply) => {
    const data = reply.data ?? reply
    if (data.serial === serial) {
      waiting = false
      clearTimeout(lost)
    }
    show(data)
    document.body.dataset.serial = data.serial
    next()
  })

  // --- what the server says -----------------------------------------------------------------------------------------
  function note(id, text) {
    el(id).textContent = text ?? ""
    el(id).hidden = !text
  }

  function show(data) {
    note("problem", data.problem)
    note("said", data.said)
    if (data.settings) settings(data.settings)
    if (data.numbers) {
      draft = data.draft
      for (const [name, text] of Object.entries(data.numbers)) el(name).textContent = text
      note("no-solution", data.no_solution)
    }
    if (data.query !== undefined && data.query !== query) {
      query = data.query
      for (const link of all("[data-export]")) {
        link.href = `export/${link.dataset.export}?${query}`
        link.download = link.dataset.export
      }
      clearTimeout(resting)
      resting = setTimeout(rested, IDLE)
    }
    if (data.run) run(data.run)
  }

  function settings(values) {
    for (const [name, value] of Object.entries(values)) {
      if (name in changes) continue // the user is ahead of the server
      const range = el(`${name}-range`)
      if (range) {
        if (document.activeElement !== range) range.value = position(range, value)
        range.setAttribute("aria-valuetext", value)
        const number = el(`${name}-number`)
        if (document.activeElement !== number || Number(number.value) !== value) number.value = shown(value)
      }
      const choice = document.querySelector(`[data-choice="${name}"]`)
      if (choice) choice.value = value
    }
    const curve = document.querySelector('#nonlinearity option[value="tabulated"]')
    curve.disabled = values.curve === 0
    for (const name of ["x_min", "gamma"]) {
      document.querySelector(`[data-row="${name}"]`).classList.toggle("unused", values.nonlinearity !== "polsky")
    }
    el("capacity-theta_d").hidden = values.axis !== "theta_d"
    el("capacity-theta_s").hidden = values.axis !== "theta_s"
  }

  function rested() {
    history.replaceState(null, "", `?${query}${location.hash}`)
    if (draft) send({kind: "refine"})
    validity()
    for (const details of all("details[data-script][open]")) script(details)
  }

  async function ask(path) {
    const asked = query
    const answer = await fetch(`${path}?${asked}`)
    return asked === query ? answer : null
  }

  async function validity() {
    const answer = await ask("validity").catch(() => null)
    if (answer === null || !answer.ok) return
    const sentences = await answer.json()
    el("validity").replaceChildren(...sentences.map((sentence) => {
      const item = document.createElement("li")
      item.className = sentence.kind
      item.textContent = sentence.text
      return item
    }))
  }

  async function script(details) {
    const answer = await ask(`export/${details.dataset.script}`).catch(() => null)
    if (answer !== null) details.querySelector("code").textContent = await answer.text()
  }

  function run(state) {
    for (const name of ["epoch", "errors", "silent", "silent_theory", "alpha_c"]) el(`run-${name}`).textContent = state[name]
    const words = {idle: "not started", running: "running", paused: "paused", ended: state.text}
    const failed = state.state === "ended" && state.text.length > 40
    el("run-text").textContent = failed ? "failed" : words[state.state]
    const stale = state.stale ? "The parameters have changed since this run; start again to train the new neuron." : ""
    note("run-note", [failed ? state.text : "", state.theory, stale].filter(Boolean).join(" "))
    running = state.state === "running"
    el("pause").disabled = !(running || state.state === "paused")
    el("pause").textContent = state.state === "paused" ? "Resume" : "Pause"
    el("stop").disabled = el("pause").disabled
    el("training").dataset.state = state.state
    clearTimeout(polling)
    if (running) polling = setTimeout(() => send({kind: "progress"}), POLL)
  }

  // --- sliders ------------------------------------------------------------------------------------------------------
  function position(range, value) {
    return range.dataset.log === "true" ? Math.log(Math.max(value, Number(range.dataset.low))) : value
  }

  function shown(value) {
    return typeof value === "number" ? Number(value.toPrecision(6)) : value
  }

  function value(range) {
    const {low, high, log, whole} = range.dataset
    let number = Number(range.value)
    if (log === "true") number = Number(Math.exp(number).toPrecision(3))
    if (whole === "true") number = Math.round(number)
    return Math.min(Math.max(Number(number.toPrecision(6)), Number(low)), Number(high))
  }

  for (const range of all("[data-slider]")) {
    const {low, high, step, log} = range.dataset
    range.min = log === "true" ? Math.log(Number(low)) : low
    range.max = log === "true" ? Math.log(Number(high)) : high
    range.step = log === "true" ? Math.log(1 + Number(step)) : step
    if (log === "true") range.step = (range.max - range.min) / Math.round((range.max - range.min) / range.step)
    const name = range.dataset.slider
    range.addEventListener("input", () => {
      el(`${name}-number`).value = shown(value(range))
      change(name, value(range))
    })
    const number = el(`${name}-number`)
    number.addEventListener("change", () => {
      if (number.value.trim() === "" || !Number.isFinite(Number(number.value))) {
        note("problem", `${name}: a number is needed`)
      } else {
        change(name, Number(number.value))
      }
    })
  }
  for (const choice of all("[data-choice]")) {
    choice.addEventListener("change", () => change(choice.dataset.choice, choice.value))
  }
  for (const button of all("[data-preset]")) {
    button.addEventListener("click", () => send({kind: "preset", name: button.dataset.preset}))
  }

  // --- upload -------------------------------------------------------------------------------------------------------
  el("file").addEventListener("change", async () => {
    const [file] = el("file").files
    if (!file) return
    if (file.size > Number(el("file").dataset.largest)) {
      note("problem", `${file.name} has ${file.size} bytes; at most ${el("file").dataset.largest} are allowed`)
    } else {
      const bytes = new Uint8Array(await file.arrayBuffer())
      const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
      send({kind: "upload", name: file.name, content, in_mv: el("in-mv").checked})
    }
    el("file").value = "" // the same file again, mended, is a change too
  })

  // --- tabs, theme, copying -----------------------------------------------------------------------------------------
  const tabs = {explore: ["tab-explore", "figures"], train: ["tab-train", "training"]}

  function select(wanted) {
    for (const [name, [tab, panel]] of Object.entries(tabs)) {
      const chosen = name === wanted
      el(tab).setAttribute("aria-selected", chosen)
      el(tab).tabIndex = chosen ? 0 : -1
      el(panel).hidden = !chosen
    }
    history.replaceState(null, "", location.pathname + location.search + (wanted === "train" ? "#train" : ""))
    window.dispatchEvent(new Event("resize"))
    if (wanted === "train") send({kind: "progress"})
  }
  for (const [name, [tab]] of Object.entries(tabs)) {
    el(tab).addEventListener("click", () => select(name))
    el(tab).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return
      const other = name === "train" ? "explore" : "train"
      select(other)
      el(tabs[other][0]).focus()
    })
  }

  function dark() {
    return document.documentElement.dataset.theme === "dark"
  }

  function theme(wanted) {
    document.documentElement.dataset.theme = wanted ? "dark" : "light"
    el("dark").setAttribute("aria-pressed", wanted)
  }
  el("dark").addEventListener("click", () => {
    theme(!dark())
    localStorage.setItem("dendrocap-theme", dark() ? "dark" : "light")
    send({kind: "theme"})
  })

  async function copy(button, text) {
    const label = button.textContent
    try {
      await navigator.clipboard.writeText(text)
      button.textContent = "Copied"
    } catch {
      button.textContent = "Copy it by hand"
    }
    setTimeout(() => { button.textContent = label }, 1500)
  }
  el("copy-link").addEventListener("click", () => copy(el("copy-link"), `${location.origin}${location.pathname}?${query}`))
  for (const details of all("details[data-script]")) {
    details.addEventListener("toggle", () => { if (details.open) script(details) })
    const button = details.querySelector(".copy-script")
    button.addEventListener("click", () => copy(button, details.querySelector("code").textContent))
  }

  // --- training -----------------------------------------------------------------------------------------------------
  el("start").addEventListener("click", () => send({kind: "train", action: "start"}))
  el("stop").addEventListener("click", () => send({kind: "train", action: "stop"}))
  el("pause").addEventListener("click", () => send({kind: "train", action: running ? "pause" : "resume"}))

  const stored = localStorage.getItem("dendrocap-theme")
  theme(stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches)
  if (location.hash === "#train") select("train")
  send({kind: "hello"})
  return document.createElement("span")
}
