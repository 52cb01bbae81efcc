// Before anything is painted: whoever chose a theme must not see a flash of the other.
;(() => {
  try {
    const chosen = localStorage.getItem('askback.theme')
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
  } catch {
    // The browser blocks storage: the system's theme it is.
  }
})()
