/** What decides in a person's name, or opens the database, is none of the agent's business. */
const SECRET_NAMES = [
  /^ASKBACK_/,
  /^TELEGRAM_/,
  /(^|_)DATABASE_URL$/,
  /^PG(PASSWORD|PASSFILE|SERVICE|SERVICEFILE)$/,
]
const DATABASE_URL = /^(postgres(ql)?|mysql|mariadb|mongodb(\+srv)?|rediss?):\/\//i

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of an agent's process: what it starts from, cleaned, and what its shells need to reach Askback. */
export function agentEnvironment(
  base: Environment,
  shells: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && !isSecret(name, value)) env[name] = value
  }
  return { ...env, ...shells }
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAMES.some((pattern) => pattern.test(name)) || DATABASE_URL.test(value)
}
