// Runs before the first paint, so that a person who chose a theme does not see a flash of the other.
;(() => {
  try {
    const chosen = localStorage.getItem('askback.theme')
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
  } catch {
    // The browser blocks storage, so the theme of the system applies.
  }
})()
