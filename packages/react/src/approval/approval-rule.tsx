import { canonicalJson, whatRuns } from '@askback/protocol'
import { LongText } from '../content/long-text.js'
import { ShownText } from '../content/shown-text.js'
import { useMustSee } from '../guard/card-guard.js'
import { useSessionFacts } from '../interaction/session-facts.js'
import type { ApprovalControl } from './use-approval.js'

/** The rule that approving would store, before it does. */
export function ApprovalRule({ control }: { control: ApprovalControl }) {
  const { agent, cwd } = useSessionFacts()
  const { scope, interaction, request } = control
  const compared = whatRuns(interaction.toolName, request.input)
  return (
    <div className="ab-rule" role="status">
      <p ref={useMustSee()}>
        From now on{' '}
        <code className="ab-inline-code">
          <ShownText text={interaction.toolName} as="code" />
        </code>{' '}
        with exactly this input
        {compared !== request.input && ', whatever its description says,'} is approved without asking
        {scope === 'session' && ', in this session only.'}
        {scope === 'always' && (
          <>
            , in{' '}
            <code className="ab-inline-code">
              <ShownText text={cwd ?? ''} as="code" />
            </code>
            {agent !== null && (
              <>
                , for the agent{' '}
                <code className="ab-inline-code">
                  <ShownText text={agent} as="code" />
                </code>
              </>
            )}
            .
          </>
        )}
      </p>
      <LongText text={canonicalJson(compared)} label="The input that the rule allows" />
    </div>
  )
}
