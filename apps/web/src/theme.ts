export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const KEY = 'askback.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

export function theme(): Theme {
  const kept = localStorage.getItem(KEY)
  return themes.find((each) => each === kept) ?? 'system'
}

export function applyTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen)
  const isDark = chosen === 'dark' || (chosen === 'system' && dark.matches)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
}

dark.addEventListener('change', () => applyTheme(theme()))
