export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

// Known to `public/theme.js` too.
const KEY = 'askback.theme'

export function theme(): Theme {
  const kept = localStorage.getItem(KEY)
  return themes.find((each) => each === kept) ?? 'system'
}

/** Without a choice the system decides. */
export function applyTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen)
  const { dataset } = document.documentElement
  if (chosen === 'system') delete dataset['theme']
  else dataset['theme'] = chosen
}
