export interface Login {
  cookie: { name: string; value: string }
  proof: string
  /** What the page stores, as text. */
  stored: string
  /** The headers of a request with this login. */
  headers: Record<string, string>
}

/** Exchanges the code of a link for a login, as the login page does. */
export async function logIn(openUrl: string): Promise<Login> {
  const { origin, searchParams } = new URL(openUrl)
  const response = await fetch(`${origin}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: searchParams.get('code') }),
  })
  if (!response.ok) throw new Error(`Not logged in: ${response.status} ${await response.text()}`)
  const stored = await response.text()
  const { proof } = JSON.parse(stored) as { proof: string }
  const pair = response.headers.get('set-cookie')!.split(';', 1)[0]!
  const [name = '', value = ''] = pair.split('=')
  return { cookie: { name, value }, proof, stored, headers: { cookie: pair, 'askback-proof': proof } }
}
