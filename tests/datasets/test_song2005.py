"""The shipped amplitudes are those that were published."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dendrocap


def test_summary_numbers_are_those_of_the_publication():
    data = dendrocap.datasets.song2005()
    assert data.amplitudes_mv.size == 931
    assert data.n_tested == 8050
    # Song et al., text and Appendix S1: mean 0.77 mV, median 0.50 mV, connection probability 0.116.
    assert_allclose(data.amplitudes_mv.mean(), 0.77, atol=0.005)
    assert_allclose(np.median(data.amplitudes_mv), 0.50, atol=0.006)
    assert_allclose(931 / data.n_tested, 0.116, atol=0.0005)
    # The transcription's sum, printed with ten digits by the party that parsed the spreadsheet.
    assert_allclose(data.amplitudes_mv.sum(), 412.581745 + 302.3290303, rtol=1e-9)
    assert "10.1371/journal.pbio.0030068" in data.citation


def test_the_data_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        dendrocap.datasets.song2005().amplitudes_mv[0] = 1.0
