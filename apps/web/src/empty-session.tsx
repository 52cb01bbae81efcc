import type { SessionState } from '@askback/protocol'
import { Markdown, ShownText } from '@askback/react'

interface EmptySessionProps {
  sessionId: string
  state: Pick<SessionState, 'agent' | 'cwd'>
}

/** What stands in a session in which nothing has happened yet: what it is, who may write to it, and how. */
export function EmptySession({ sessionId, state }: EmptySessionProps) {
  const { agent, cwd } = state
  return (
    <section className="mx-auto w-full max-w-xl text-left text-sm leading-6" aria-label="Empty session">
      <h2 className="text-base font-semibold text-ink">
        {agent === null ? (
          'This session waits for an outside agent'
        ) : (
          <>
            New session with <ShownText text={agent} />
          </>
        )}
      </h2>
      {agent === null ? (
        <OutsideAgent sessionId={sessionId} />
      ) : (
        <>
          <p className="mt-2">
            Write a message below to start
            {cwd !== null && (
              <>
                {' '}
                work in <ShownText text={cwd} as="code" />
              </>
            )}
            . When the agent needs you, its request appears here and in your inbox.
          </p>
          <p className="mt-2">Everyone who is signed in to this gateway can write here and answer.</p>
        </>
      )}
    </section>
  )
}

function OutsideAgent({ sessionId }: { sessionId: string }) {
  return (
    <>
      <p className="mt-2">
        An agent or a script that runs elsewhere asks here, and everyone who is signed in to this gateway can
        answer. What you write below is a note for the log: no agent reads it.
      </p>
      <p className="mt-3 mb-1.5">To ask from a terminal on this machine:</p>
      <Markdown text={shell(askByCommand(sessionId))} />
      <details className="mt-3">
        <summary className="mb-1.5 cursor-pointer">To ask over HTTP</summary>
        <p className="mb-1.5">
          Set <code>ASKBACK_AGENT_TOKEN</code> to what <code>askback token agent</code> prints on the
          gateway’s machine:
        </p>
        <Markdown text={shell(askByHttp(sessionId))} />
      </details>
    </>
  )
}

function askByCommand(sessionId: string): string {
  return `askback ask "Which database?" --option Postgres --option SQLite --session ${quoted(sessionId)}`
}

function askByHttp(sessionId: string): string {
  const questions = [{ header: 'Database', question: 'Which database?', options: [{ label: 'SQLite' }] }]
  return [
    `curl '${location.origin}/api/sessions/${encodeURIComponent(sessionId)}/interactions?wait=25' \\`,
    `  -H "Authorization: Bearer $ASKBACK_AGENT_TOKEN" -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ kind: 'question', request: { questions } })}'`,
  ].join('\n')
}

/** For a shell. */
function quoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function shell(code: string): string {
  return `\`\`\`\`sh\n${code}\n\`\`\`\``
}
