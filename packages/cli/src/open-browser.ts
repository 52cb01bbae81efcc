import openInBrowser from 'open'

/** Whether there is a person at a screen who would see it. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform = process.platform): boolean {
  if (env['CI'] || env['SSH_CONNECTION']) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY'])
}

/** No browser is not an error: the address has been printed. */
export async function openBrowser(url: string): Promise<void> {
  try {
    const child = await openInBrowser(url)
    child.on('error', () => undefined)
  } catch {
    // Nothing to open it with.
  }
}
