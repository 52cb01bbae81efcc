import type { ErrorBody, Interaction, Session } from '@askback/protocol'
import type { OutgoingHttpHeaders } from 'node:http'
import type { TestGateway } from './test-gateway.js'

/** A response of the gateway, with its body parsed. */
export interface ApiResponse<Body> {
  status: number
  body: Body
  headers: OutgoingHttpHeaders
}

type Headers = Record<string, string>

/** Calls the API of a gateway with one credential, without a socket. */
export class Api {
  readonly #gateway: TestGateway
  readonly #headers: Headers

  constructor(gateway: TestGateway, token: string | null = gateway.token, headers: Headers = {}) {
    this.#gateway = gateway
    this.#headers = { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers }
  }

  get<Body = ErrorBody>(path: string, headers?: Headers): Promise<ApiResponse<Body>> {
    return this.send('GET', path, undefined, headers)
  }

  post<Body = ErrorBody>(path: string, body?: unknown, headers?: Headers): Promise<ApiResponse<Body>> {
    return this.send('POST', path, body, headers)
  }

  delete<Body = ErrorBody>(path: string, headers?: Headers): Promise<ApiResponse<Body>> {
    return this.send('DELETE', path, undefined, headers)
  }

  async send<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<ApiResponse<Body>> {
    const response = await this.#gateway.gateway.app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const [type] = String(response.headers['content-type']).split(';', 1)
    const parsed = type === 'application/json' ? response.json<Body>() : (response.body as Body)
    return { status: response.statusCode, body: parsed, headers: response.headers }
  }

  /** Creates a session, by default one of outside agents, and resolves to its id. Rejects if it is refused. */
  async session(body: object = { agent: null }): Promise<string> {
    const created = await this.post<{ session: Session }>('/api/sessions', body)
    if (created.status !== 201) throw new Error(`No session: ${JSON.stringify(created.body)}`)
    return created.body.session.id
  }

  /** Opens an interaction, by default a question. Rejects if it is refused. */
  async open(sessionId: string, body: object = question, headers: Headers = {}): Promise<Interaction> {
    const opened = await this.post<{ interaction: Interaction }>(
      `/api/sessions/${sessionId}/interactions`,
      { toolCallId: 'call', ...body },
      headers,
    )
    if (opened.status !== 201) throw new Error(`Not opened: ${JSON.stringify(opened.body)}`)
    return opened.body.interaction
  }
}

/** The headers that a signed-in page sends with each request. */
export interface BrowserLogin {
  cookie: string
  'askback-proof': string
}

/** Exchanges a one-time code for a login, as the login page does. */
export async function signIn(
  gateway: TestGateway,
  code = gateway.credentials.createLoginCode(gateway.credentials.owner),
): Promise<BrowserLogin> {
  const { status, body, headers } = await new Api(gateway, null).post<{ proof: string }>('/api/login', {
    code,
  })
  if (status !== 200) throw new Error(`Not signed in: ${JSON.stringify(body)}`)
  const cookie = String(headers['set-cookie']).split(';', 1)[0]!
  return { cookie: `theme=dark; ${cookie}`, 'askback-proof': body.proof }
}

/** The body that opens a question. */
export const question = {
  kind: 'question',
  request: {
    questions: [
      {
        header: 'Database',
        question: 'Which database?',
        options: [{ label: 'Postgres' }, { label: 'SQLite' }],
        multiSelect: false,
      },
    ],
  },
}

/** The body that answers it. */
export const sqlite = { answer: { answers: [{ selected: ['SQLite'] }] } }
/** The body that opens an approval. */
export const approval = { kind: 'approval', toolName: 'Bash', request: { input: { command: 'ls' } } }
/** The body that approves it. */
export const approve = { answer: { decision: 'approve' } }
