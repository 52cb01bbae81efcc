import type { ToolBlock } from '@askback/client'
import type { Json } from '@askback/protocol'
import { CallInput } from '../content/call-input.js'
import { LongText, sizeOf } from '../content/long-text.js'

/** What a call was given, and what came of it. */
export function ToolCallDetail({ call }: { call: ToolBlock }) {
  const { toolName, input, partialInput, result, liveOutput } = call
  const output = result ? outputText(result.output) : liveOutput
  // What the agent is told about a call that people did not allow is an error to it, and none to them.
  const hasFailed = call.status === 'failed'
  return (
    <>
      {partialInput === undefined ? (
        <CallInput toolName={toolName} input={input} />
      ) : (
        <div className="ab-code-block">
          <div className="ab-code-bar">Input so far</div>
          <LongText text={partialInput} label="Input so far" />
        </div>
      )}
      {output !== undefined && (
        <div className="ab-code-block" data-tone={hasFailed ? 'bad' : undefined}>
          <div className="ab-code-bar">
            <span>{result ? (hasFailed ? 'Error' : 'Output') : 'Output so far'}</span>
            <span>
              {sizeOf(output)}
              {result?.truncated !== undefined && ', cut from a longer one'}
            </span>
          </div>
          <LongText text={output} label="Output" />
        </div>
      )}
    </>
  )
}

/** Many tools answer in a list of texts. */
function outputText(output: Json): string {
  if (typeof output === 'string') return output
  const parts = Array.isArray(output) ? output.map(partText) : [null]
  return parts.every((part) => part !== null) ? parts.join('\n') : JSON.stringify(output, null, 2)
}

function partText(part: Json): string | null {
  const isText = typeof part === 'object' && part !== null && !Array.isArray(part) && part['type'] === 'text'
  return isText && typeof part['text'] === 'string' ? part['text'] : null
}
