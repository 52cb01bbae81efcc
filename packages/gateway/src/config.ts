import { z } from 'zod'

const count = z.int().min(1)

/** Everything an operator can set. The command line and `config.json` in the data folder fill it. */
export const gatewayConfig = z.strictObject({
  /** Names, beside the loopback ones, under which this gateway is reached. Ports do not matter. */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** Web origins, beside its own, whose pages may call this gateway. */
  allowedOrigins: z.array(z.url()).default([]),
  /**
   * Names or paths below a session's folder, like `deploy` or `infra/prod`, in which edits are asked for in every mode but
   * `bypassPermissions`, beside those that always are (`.git`, `.claude` and the like).
   */
  protectedPaths: z.array(z.string().min(1)).default([]),
  /**
   * Addresses of reverse proxies, or ranges like 10.0.0.0/8: what they say in `X-Forwarded-For` and `X-Forwarded-Proto`
   * counts.
   */
  trustProxy: z.array(z.string()).default([]),
  /** Files with the certificate, its chain included, and its key, in PEM. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** Serve plain HTTP at an address that others can reach, without a proxy that ends TLS. */
  insecure: z.boolean().default(false),
  /** How long a browser stays logged in. */
  loginDays: z.number().positive().default(30),
  /** Sessions that nobody has written to for so long are deleted. */
  retentionDays: z.number().positive().optional(),
  /** How long a request waits for a person unless it says so itself, like `10m`; or `never`. */
  timeout: z.string().optional(),
  /** How long a stop waits for answers in flight. */
  drainMs: z.int().min(0).default(10_000),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('warn'),
  agents: z
    .strictObject({
      claude: z
        .strictObject({
          /** An installed Claude Code, by its path or as a command, instead of the one that comes with its SDK. */
          executable: z.string().min(1).optional(),
          /** Which settings of Claude Code count beside CLAUDE.md; the user's unless set. */
          settingSources: z.array(z.enum(['user', 'project', 'local'])).optional(),
        })
        .prefault({}),
      codex: z
        .strictObject({
          /** An installed Codex, by its path or as a command. */
          executable: z.string().min(1).optional(),
          /** Whether commands in its sandbox have the network, which scripts need to ask. */
          networkAccess: z.boolean().default(false),
        })
        .prefault({}),
      /** Agents that speak the Agent Client Protocol, by the command that starts each. */
      acp: z
        .array(
          z.strictObject({
            id: z.string().regex(/^[a-z0-9-]{1,40}$/),
            name: z.string().min(1).max(60).optional(),
            command: z.string().min(1),
            args: z.array(z.string()).default([]),
            /** The agent's own mode outside plan mode; by default one that is known to ask a person. */
            mode: z.string().min(1).optional(),
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
  /** Where else people are asked. What is secret comes from the environment or a file of its owner. */
  connectors: z
    .strictObject({
      telegram: z
        .strictObject({
          tokenFile: z.string().min(1).optional(),
          /** Who may answer, beside those who pair. */
          users: z.array(z.strictObject({ id: z.int(), name: z.string().min(1).optional() })).default([]),
          /** Chats in which things are shown from the start. */
          chats: z.array(z.int()).default([]),
          /** The public address of this gateway's `/api/connectors/telegram/updates`; without it Telegram is asked. */
          webhookUrl: z.url().optional(),
          apiRoot: z.url().optional(),
        })
        .optional(),
      /** Are told of everything that waits or is settled. */
      webhooks: z
        .array(z.strictObject({ url: z.url(), secretFile: z.string().min(1).optional() }))
        .default([]),
    })
    .prefault({}),
  limits: z
    .strictObject({
      bodyBytes: count.default(4 * 1024 * 1024),
      /** The history of a session that is adopted. */
      historyBytes: count.default(128 * 1024 * 1024),
      requestBytes: count.default(1024 * 1024),
      jsonDepth: count.default(100),
      pendingPerSession: count.default(5000),
      sessions: count.default(10_000),
      /** What the sessions that are kept in memory may take, roughly. Others are read from the store when they are used. */
      memoryMb: count.default(500),
      sockets: count.default(1000),
      streams: count.default(10_000),
      failedLoginsPerMinute: count.default(20),
      /** For each credential, a person's among them. Off unless set. */
      requestsPerMinute: count.optional(),
      /** For each agent's credential, streams apart; `null` sets no limit. The one for outside agents is shared by all of them. */
      agentRequestsPerSecond: z.number().positive().nullable().default(1000),
      /** How many requests an agent's credential may send at once, after a pause. */
      agentBurst: count.default(10_000),
    })
    .prefault({}),
})

export type GatewayConfig = z.infer<typeof gatewayConfig>
/** What is left out has its default. */
export type GatewaySettings = z.input<typeof gatewayConfig>
