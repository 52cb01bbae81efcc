import * as z from 'zod'
import { originOf } from './http/origin.js'

const count = z.int().min(1)

/** Every setting of an operator, from `config.json` in the data folder and the command line. Unknown keys are refused. */
export const gatewayConfig = z.strictObject({
  /** Host names of this gateway in addition to the loopback names, without ports. */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** Web origins whose pages may call this gateway, in addition to its own. */
  allowedOrigins: z
    .array(z.url().refine((url) => originOf(url) !== null, 'is no origin, like https://ide.example'))
    .default([]),
  /** Whether those pages may be signed in by a cookie of the program that embeds the gateway. They can always send a token. */
  allowedOriginsMaySendCookies: z.boolean().default(false),
  /**
   * Names or paths in a session's folder, like `deploy` or `infra/prod`. Edits in them need an approval in every mode but
   * `bypassPermissions`. `.git`, `.claude` and the like are always protected.
   */
  protectedPaths: z.array(z.string().min(1)).default([]),
  /**
   * Addresses of reverse proxies, or ranges like 10.0.0.0/8, whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.
   */
  trustProxy: z.array(z.string()).default([]),
  /** PEM files with the certificate and its chain, and with its key. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** Serve plain HTTP at an address that other machines can reach, without a proxy that terminates TLS. */
  insecure: z.boolean().default(false),
  /** How long a browser stays logged in. */
  loginDays: z.number().positive().default(30),
  /** Sessions without a new event for this long are deleted. */
  retentionDays: z.number().positive().optional(),
  /** How long an interaction waits for a person if it has no timeout of its own: a duration like `10m`, or `never`. */
  timeout: z.string().optional(),
  /** How long a stop waits for requests in flight, in milliseconds. */
  drainMs: z.int().min(0).default(10_000),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('warn'),
  mcp: z
    .strictObject({
      /**
       * Whether MCP clients that can show forms may answer questions in the name of their user, never approvals or plans. The answer
       * comes with the agent's credential.
       */
      elicitation: z.boolean().default(false),
    })
    .prefault({}),
  agents: z
    .strictObject({
      /** How long an agent stays without a turn before its process is ended to free its memory; `null` for ever. */
      idleMinutes: z.number().positive().nullable().default(10),
      claude: z
        .strictObject({
          /** Path or command of an installed Claude Code, instead of the one in its SDK. */
          executable: z.string().min(1).optional(),
          /** Which settings of Claude Code are used in addition to CLAUDE.md; by default the user's. */
          settingSources: z.array(z.enum(['user', 'project', 'local'])).optional(),
          /** Tools that ask with one of the operator's kinds instead of an approval: kinds, or their names, by the names of tools. */
          tools: z.record(z.string(), z.union([z.string(), z.looseObject({ kind: z.string() })])).optional(),
        })
        .prefault({}),
      codex: z
        .strictObject({
          /** Path or command of an installed Codex. */
          executable: z.string().min(1).optional(),
          /** Whether commands in its sandbox may use the network. Scripts need it to ask a person. */
          networkAccess: z.boolean().default(false),
        })
        .prefault({}),
      /** Agents that speak the Agent Client Protocol, with the command that starts each. */
      acp: z
        .array(
          z.strictObject({
            id: z.string().regex(/^[a-z0-9-]{1,40}$/),
            name: z.string().min(1).max(60).optional(),
            command: z.string().min(1),
            args: z.array(z.string()).default([]),
            /** The agent's own mode outside plan mode; by default one that is known to ask a person. */
            mode: z.string().min(1).optional(),
            /** The model of sessions that name none, by the agent's own id for it. */
            model: z.string().min(1).optional(),
            /** Variables of the agent's environment, in addition to those of the gateway. */
            env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).default({}),
          }),
        )
        .refine(
          (all) =>
            new Set(['demo', 'claude', 'codex', 'codex-exec', ...all.map(({ id }) => id)]).size ===
            all.length + 4,
          {
            error: 'two agents have the same id',
          },
        )
        .default([]),
    })
    .prefault({}),
  /** Other surfaces on which people are asked. Secrets come from the environment or from a file. */
  connectors: z
    .strictObject({
      telegram: z
        .strictObject({
          tokenFile: z.string().min(1).optional(),
          /** People who may answer, in addition to those who pair. */
          users: z.array(z.strictObject({ id: z.int(), name: z.string().min(1).optional() })).default([]),
          /** Chats that get everything from the start, without pairing. */
          chats: z.array(z.int()).default([]),
          /** The public URL of this gateway's `/api/connectors/telegram/updates`; without it, the gateway polls Telegram. */
          webhookUrl: z.url().optional(),
          apiRoot: z.url().optional(),
        })
        .optional(),
      /** Receive every interaction when it is opened and when it is settled. */
      webhooks: z
        .array(z.strictObject({ url: z.url(), secretFile: z.string().min(1).optional() }))
        .default([]),
    })
    .prefault({}),
  limits: z
    .strictObject({
      bodyBytes: count.default(4 * 1024 * 1024),
      /** The largest history of an adopted session. */
      historyBytes: count.default(128 * 1024 * 1024),
      requestBytes: count.default(1024 * 1024),
      jsonDepth: count.default(100),
      pendingPerSession: count.default(5000),
      sessions: count.default(10_000),
      /** Approximate memory for cached sessions. Others are read from the store when they are used. */
      memoryMb: count.default(500),
      sockets: count.default(1000),
      streams: count.default(10_000),
      failedLoginsPerMinute: count.default(20),
      /** For each credential, of people and agents. Unlimited unless set. */
      requestsPerMinute: count.optional(),
      /** For each agent's credential, without streams; `null` is unlimited. All outside agents share one credential. */
      agentRequestsPerSecond: z.number().positive().nullable().default(1000),
      /** How many requests an agent's credential may send at once after a pause. */
      agentBurst: count.default(10_000),
    })
    .prefault({}),
})

/** The settings of a gateway, checked and with their defaults. */
export type GatewayConfig = z.infer<typeof gatewayConfig>
/** The input of `gatewayConfig`: everything is optional and has a default. */
export type GatewaySettings = z.input<typeof gatewayConfig>
