export interface Check {
  name: string
  /** `false`: Askback cannot run so. `null`: missing, and nothing needs it. */
  ok: boolean | null
  says: string
}

export const fine = (name: string, says: string): Check => ({ name, ok: true, says })
export const missing = (name: string, says: string): Check => ({ name, ok: null, says })
export const broken = (name: string, says: string): Check => ({ name, ok: false, says })

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Whether a process of this machine runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
