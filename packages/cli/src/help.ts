export const help = `Askback: agents that ask back.

  askback serve                 start the gateway and open the web app
    --host ADDRESS              listen here (127.0.0.1)
    --port PORT                 (4100; 0 takes any)
    --data DIR                  keep everything here (the user's data folder)
    --config FILE               settings (config.json in the data folder)
    --allow-host NAME           also answer under this name; may be repeated
    --allow-origin URL          also take calls from pages of this origin; may be repeated
    --timeout 10m|never         how long a request waits for a person unless it says so itself
    --no-open                   do not open the browser
    --json                      one line of JSON when it is ready

  askback open                  log another browser in at the gateway that runs
    --print                     print the link instead; it works once, for ten minutes

  askback token create --person NAME    make a token for a person and print it
  askback token list                    whose tokens there are
  askback token revoke NAME             revoke a person's tokens and logins
    --data DIR                          the gateway that runs on this folder
    --json

  askback doctor                what is here, and what is missing for which agent
    --data DIR
    --json

  askback --help | --version

Tokens come from ASKBACK_TOKEN (a person's) and ASKBACK_AGENT_TOKEN (outside agents') if these are set.
`
