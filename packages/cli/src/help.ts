export const help = `Askback: agents that ask back.

  askback serve                 start the gateway and open the web app
    --host ADDRESS              listen here (127.0.0.1)
    --port PORT                 (4100; 0 takes any)
    --data DIR                  keep everything here (the user's data folder)
    --store postgres://…        share this database with other gateways; or ASKBACK_STORE
    --store-listen postgres://… its direct address, where --store goes through a pooling proxy
    --lease 10s                 how long another gateway may be silent before its agents are taken over
    --config FILE               settings (config.json in the data folder)
    --allow-host NAME           also answer under this name; may be repeated
    --allow-origin URL          also take calls from pages of this origin; may be repeated
    --tls-cert FILE  --tls-key FILE     serve HTTPS; or ASKBACK_TLS_CERT and ASKBACK_TLS_KEY
    --trust-proxy ADDRESS       a proxy in front, which ends TLS; may be repeated; or ASKBACK_TRUST_PROXY
    --insecure                  serve plain HTTP even where others can reach it
    --timeout 10m|never         how long a request waits for a person unless it says so itself; or ASKBACK_TIMEOUT,
                                or "timeout" in the settings
    --claude PATH               run this Claude Code instead of the one of its SDK; or ASKBACK_CLAUDE
    --no-open                   do not open the browser
    --json                      one line of JSON when it is ready

  askback open                  log another browser in at the gateway that runs
    --print                     print the link instead; it works once, for ten minutes
  askback logout [NAME]         sign all browsers of a person out (you, unless you name somebody); tokens stay
    --data DIR  --json

  askback token create --person NAME    make a token for a person and print it
  askback token list                    whose tokens there are
  askback token revoke NAME             revoke a person's tokens and logins
    --data DIR                          the gateway that runs on this folder
    --json

  askback ask "QUESTION"        ask a person; the answer comes on stdout
    --option LABEL              a choice; may be repeated; a text of one's own is always possible
    --multi                     several may be chosen
    --header TEXT               a short name for the question
    --default LABEL             counts as the answer if nobody answers in time
  askback form SCHEMA.json      ask for the values of a form (- reads stdin)
    --message TEXT  --values JSON|@FILE  --default JSON|@FILE
  askback request-approval --tool NAME --input JSON|@FILE
    --title TEXT  --description TEXT  --reason TEXT
  askback wait ID               take up what another process has asked
    --session ID                ask there (ASKBACK_SESSION, else one for this folder)
    --timeout 10m|never         how long to wait for a person
    --json                      the whole interaction

  askback pending               what waits for a person
  askback answer ID ANSWER…     a label or number, approve or deny, a plan's decision, NAME=VALUE
    --message TEXT  --scope once|session|always  --input JSON|@FILE  --answer JSON|@FILE
  askback sessions              all sessions
  askback send SESSION "TEXT"   say something in a session
  askback adopt FILE|ID         go on here with a session that Claude Code or Codex has run by itself
    --from SESSION              where its scripts have asked
  askback audit                 who settled what, and who changed what else matters
    --format jsonl|csv
    --url URL  --data DIR       which gateway (ASKBACK_URL, else the one that runs here)
    --json

  askback mcp                   an MCP server on stdin and stdout, with tools that ask a person
    --session ID  --timeout 10m|never  --progress 10s
  askback install claude-code   have a Claude Code that is started by hand ask here
    --project                   in this folder only
    --yes                       without asking
  askback uninstall claude-code

  askback attach [SESSION]      a session in this terminal, answered with keys and texts
    --plain                     line by line, as without a terminal
    --url URL  --data DIR

  askback export [FILE]         write all sessions and keys, one JSON a line, while no gateway runs on the file
  askback import FILE           read them in elsewhere; may be run again
    --data DIR | --store postgres://…

  askback telegram pair         a code with which you can answer in Telegram
    --json

  askback doctor                what is here, what is missing, and what to do about it
    --url URL  --data DIR
    --claude PATH
    --json

  askback --help | --version

Exit codes: 0 answered or approved, 1 other error, 2 usage, 3 denied, 4 cancelled, 5 timed out, 6 no gateway,
7 refused credential.

Tokens come from ASKBACK_TOKEN (a person's) and ASKBACK_AGENT_TOKEN (outside agents') if these are set.
`
