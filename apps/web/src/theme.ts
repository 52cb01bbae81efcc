export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

// Known to `public/theme.js` too.
const KEY = 'askback.theme'

export function theme(): Theme {
  const kept = read()
  return themes.find((each) => each === kept) ?? 'system'
}

/** Without a choice the system decides. */
export function applyTheme(chosen: Theme): void {
  try {
    localStorage.setItem(KEY, chosen)
  } catch {
    // The browser blocks storage: the choice lasts as long as the page.
  }
  const { dataset } = document.documentElement
  if (chosen === 'system') delete dataset['theme']
  else dataset['theme'] = chosen
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
