// The browser side of the bridge. Only one message is in flight at a time: later changes are collected and sent after
// the reply has arrived, so that a slider never builds up a queue.

const el = (id) => document.getElementById(id)
const all = (selector) => [...document.querySelectorAll(selector)]
const POLL = 200 // ms between polls of a run
const PATIENCE = 15000 // ms after which a reply counts as lost
const IDLE = 250 // ms of rest before the best estimate is requested
const AGAIN = 600 // ms between polls of its progress
const MARKS = {good: "✓", caution: "!", bad: "✗"}

export function render({model}) {
  let serial = 0
  let waiting = false
  let lost = null
  let changes = {}
  const queue = []
  let query = ""
  let link = ""
  let resting = null
  let millivolts = {}
  let spoken = ""
  const typing = new Set() // fields that are being edited: replies must not overwrite them
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

  // --- replies of the server ----------------------------------------------------------------------------------------
  function note(id, text) {
    el(id).textContent = text ?? ""
    el(id).hidden = !text
  }

  function show(data) {
    if (data.problem || data.said !== undefined) { // replies to polls carry no message: the old one stays
      note("problem", data.problem)
      note("said", data.said)
    }
    if (data.settings) settings(data)
    if (data.numbers) numbers(data)
    else if (data.pending) waitingFor(data.pending)
    if (data.query !== undefined && data.query !== query) {
      query = data.query
      for (const anchor of all("[data-export]")) {
        anchor.href = `export/${anchor.dataset.export}?${query}`
        anchor.download = anchor.dataset.export
      }
    }
    if (data.link !== undefined && data.link !== link) {
      link = data.link
      rest(IDLE)
    } else if (data.pending) {
      rest(AGAIN)
    }
    if (data.run) run(data.run)
    if (data.reading) setTimeout(() => send({kind: "upload"}), POLL)
  }

  function numbers(data) {
    for (const [name, text] of Object.entries(data.numbers)) if (el(name)) el(name).textContent = text
    note("no-solution", data.no_solution)
    note("branches", data.branches)
    note("remark", data.answer?.remark)
    const lights = data.answer?.lights ?? []
    el("lights").replaceChildren(...lights.map((one) => {
      const item = made("li", one.light, `${MARKS[one.light]} ${one.name}`)
      item.title = `${one.light}: ${one.words}`
      item.append(made("span", "unseen", `: ${one.light}, ${one.words}`))
      return item
    }))
    const strained = lights.filter((one) => one.light !== "good")
    el("trust").replaceChildren(...strained.map((one) => made("li", one.light, `${one.name}: ${one.words}`)))
    ladder(data.answer)
    waitingFor(data.pending ?? (data.answer?.accuracy === "fast" ? {share: 0, words: ""} : null))
    document.body.dataset.accuracy = data.pending ? "pending" : data.answer?.accuracy ?? "none"
    el("figure-dendrite").setAttribute("aria-label", data.described.dendrite)
    el(`capacity-${data.settings.axis}`).setAttribute("aria-label", data.described.capacity)
    el("figure-weights").setAttribute("aria-label", data.described.weights)
    compared(data.compared, data.neuron)
    // Announced when the sliders rest, not at every step.
    const words = data.answer && data.answer.accuracy === "best" ? data.answer.in_words : ""
    if (words && words !== spoken) el("spoken").textContent = spoken = words
  }

  function waitingFor(pending) {
    el("pending").hidden = !pending
    if (!pending) return
    el("pending").firstElementChild.value = pending.share
    el("pending").lastElementChild.textContent = pending.words
      ? `computing the best estimate: ${Math.round(100 * pending.share)} %, ${pending.words}`
      : "a quick look with equal branches; the best estimate starts when the sliders rest"
  }

  function made(tag, kind, text) {
    const element = document.createElement(tag)
    element.className = kind
    element.textContent = text
    return element
  }

  function ladder(answer) {
    const steps = answer?.ladder ?? []
    const most = Math.max(...steps.map((step) => step.value), 0)
    el("ladder").replaceChildren(...steps.map((step) => {
      const item = made("li", step.best ? "best" : "", "")
      item.title = step.assumes
      const bar = made("span", "bar", "")
      bar.style.width = `${(100 * step.value) / most}%`
      const value = step.best ? el("capacity").textContent : Number(step.value.toPrecision(3))
      const name = step.name === "replica symmetric" ? "replica symmetric (paper)" : step.name
      item.append(made("span", "", step.best ? `${name}, the best` : name), bar, made("span", "value", `${value}`))
      item.append(made("span", "unseen", `, assumes ${step.assumes}`))
      return item
    }))
  }

  function compared(rows, active) {
    el("compared").hidden = !rows
    for (const [name, row] of Object.entries(rows ?? {})) {
      const cells = el(`compared-${name}`).querySelectorAll("td")
      for (const [place, key] of ["capacity", "patterns", "silent"].entries()) cells[place].textContent = row[key]
      el(`compared-${name}`).classList.toggle("chosen", name === active)
    }
  }

  function settings(data) {
    const values = data.settings
    millivolts = data.millivolts
    for (const [name, [low, high]] of Object.entries(data.reach)) limit(name, low, high)
    for (const [name, value] of Object.entries(values)) {
      if (name in changes) continue // the user is ahead of the server
      const range = el(`${name}-range`)
      if (range) {
        if (document.activeElement !== range) range.value = position(range, value)
        const number = el(`${name}-number`)
        if (!typing.has(number)) number.value = shown(value)
        const inMv = el(`${name}-mv`)
        const mv = inMv ? Number((value * millivolts[name]).toPrecision(4)) : null
        if (inMv && !typing.has(inMv)) inMv.value = mv
        range.setAttribute("aria-valuetext", inMv ? `${shown(value)}, ${mv} millivolts at the soma` : shown(value))
      }
      const choice = document.querySelector(`[data-choice="${name}"]`)
      if (choice) choice.value = value
      const plot = name === "axis" ? all("[id^=capacity-]") : []
      for (const one of plot) one.hidden = one.id !== `capacity-${value}`
    }
    for (const option of all("#nonlinearity option, #nonlinearity_2 option")) {
      if (["smooth", "fitted", "tabulated"].includes(option.value)) option.disabled = values.curve === 0
    }
    for (const [suffix, kind] of [["", values.nonlinearity], ["_2", values.nonlinearity_2]]) {
      for (const name of ["x_min", "gamma"]) {
        document.querySelector(`[data-row="${name}${suffix}"]`).classList.toggle("unused", kind !== "polsky")
      }
    }
    const inhibited = values.inhibitory_share >= 0.001
    document.querySelector('[data-row="inhibitory_drive"]').classList.toggle("unused", !inhibited)
    el("count").disabled = inhibited
    const two = values.populations === "2"
    el("kind-basal").textContent = two ? "Basal" : "All branches"
    el("kind-apical").textContent = two ? "Apical" : "+ Apical"
    if (!two) kind("basal")
    const both = data.neurons.length > 1
    for (const name of ["a", "b"]) el(`neuron-${name}`).setAttribute("aria-pressed", data.neuron === name)
    el("neuron-b").textContent = both ? "B" : "+ B"
    el("alone").hidden = !both
  }

  // The range of g limits the slider, so that it stays within what the neuron can reach.
  function limit(name, low, high) {
    const range = el(`${name}-range`), number = el(`${name}-number`)
    if (Number(range.min) !== low || Number(range.max) !== high) {
      range.min = range.dataset.low = number.min = low
      range.max = range.dataset.high = number.max = high
      number.title = `${shown(low)} to ${shown(high)}, the range of the branch outputs`
    }
  }

  function rest(after) {
    clearTimeout(resting)
    resting = setTimeout(rested, after)
  }

  function rested() {
    if (document.hidden) return // requested again when the page is visible
    if (Object.keys(changes).length || waiting) return rest(AGAIN)
    history.replaceState(null, "", `?${link}${location.hash}`)
    send({kind: "rest"})
    for (const details of all("details[data-script][open]")) {
      if (details.dataset.shown !== query) script(details)
    }
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) rest(IDLE) })

  async function ask(path) {
    const asked = query
    const answer = await fetch(`${path}?${asked}`)
    return asked === query ? answer : null
  }

  async function script(details) {
    const answer = await ask(`export/${details.dataset.script}`).catch(() => null)
    if (answer === null) return
    details.querySelector("code").textContent = await answer.text()
    details.dataset.shown = query
  }

  function run(state) {
    for (const name of ["epoch", "errors", "silent", "silent_theory", "capacity", "paper"]) el(`run-${name}`).textContent = state[name]
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
    number.addEventListener("input", () => typing.add(number))
    number.addEventListener("change", () => {
      typing.delete(number)
      if (number.value.trim() === "" || !Number.isFinite(Number(number.value))) {
        note("problem", `${name}: enter a number`)
      } else {
        change(name, Number(number.value))
      }
    })
  }
  for (const number of all("[data-mv]")) {
    number.addEventListener("input", () => typing.add(number))
    number.addEventListener("change", () => {
      typing.delete(number)
      const name = number.dataset.mv
      const value = Number(number.value) / millivolts[name]
      if (number.value.trim() === "" || !Number.isFinite(value)) note("problem", `${name}: enter a number of millivolts`)
      else change(name, value)
    })
  }
  for (const choice of all("[data-choice]")) {
    choice.addEventListener("change", () => change(choice.dataset.choice, choice.value))
  }
  for (const button of all("[data-preset]")) {
    button.addEventListener("click", () => send({kind: "preset", name: button.dataset.preset}))
  }

  el("count").addEventListener("click", () => send({kind: "count"}))
  for (const name of ["a", "b"]) {
    el(`neuron-${name}`).addEventListener("click", () => send({kind: "compare", neuron: name}))
  }
  el("alone").addEventListener("click", () => send({kind: "compare", neuron: "a", alone: true}))

  // --- kinds of branches --------------------------------------------------------------------------------------------
  function kind(wanted) {
    for (const name of ["basal", "apical"]) {
      el(`kind-${name}`).setAttribute("aria-selected", name === wanted)
      el(name).hidden = name !== wanted
    }
  }
  el("kind-basal").addEventListener("click", () => kind("basal"))
  el("kind-apical").addEventListener("click", () => {
    change("populations", "2")
    kind("apical")
  })
  el("no-apical").addEventListener("click", () => {
    change("populations", "1")
    kind("basal")
  })

  // --- upload -------------------------------------------------------------------------------------------------------
  for (const input of all("input[type=file]")) {
    input.addEventListener("change", async () => {
      const [file] = input.files
      if (!file) return
      if (file.size > Number(input.dataset.largest)) {
        note("problem", `${file.name} has ${file.size} bytes; at most ${input.dataset.largest} are allowed`)
      } else {
        const bytes = new Uint8Array(await file.arrayBuffer())
        const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
        const tested = el("n-tested").value.trim() === "" ? null : Number(el("n-tested").value)
        send({kind: "upload", holds: input.dataset.holds, name: file.name, content, n_tested: tested})
      }
      input.value = "" // choosing the same file again, corrected, must count as a change
    })
  }

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

  el("explain").addEventListener("click", () => {
    const wanted = el("explain").getAttribute("aria-pressed") !== "true"
    el("explain").setAttribute("aria-pressed", wanted)
    document.documentElement.toggleAttribute("data-explain", wanted)
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
  el("copy-link").addEventListener("click", () => copy(el("copy-link"), `${location.origin}${location.pathname}?${link}`))
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
