import { spellOut } from '@askback/protocol'
import { ShownText, type ComposerControl, type TextTarget } from '@askback/react'
import { XIcon } from 'lucide-react'

/** Says where the text goes and what it does there, with the ways to send it elsewhere. */
export function ReplyTarget({ composer, id }: { composer: ComposerControl; id: string }) {
  const { target, recipient, choices, choose, hasAgent } = composer
  const isAmbiguous = choices.length > 1 || recipient === 'undecided'
  const [only] = choices
  // “The plan” is no word of the agent.
  const About = target?.interaction.kind === 'plan_review' ? 'span' : 'q'
  if (!only) {
    return recipient === 'log' ? (
      <p id={id} className="mb-2 text-xs text-soft">
        {NOTE}
      </p>
    ) : null
  }
  return (
    <p id={id} className="mb-2 flex flex-wrap items-center gap-x-2 text-xs leading-5 text-soft">
      {isAmbiguous ? (
        <TargetSelect composer={composer} />
      ) : target ? (
        <>
          <span className="flex min-w-0 flex-1 gap-1">
            <span className="shrink-0">Replying to: </span>
            <About className="truncate font-medium text-ink" dir="auto">
              <ShownText text={target.about} />
            </About>
          </span>
          <button
            type="button"
            className="-mr-1.5 flex shrink-0 items-center gap-1 rounded px-1.5 py-0.5 hover:bg-side touchable"
            onClick={() => choose(null)}
          >
            <XIcon className="size-3" aria-hidden />
            <span>
              {hasAgent ? 'Write to the agent' : 'Write a note'}
              <span className="max-sm:hidden"> instead</span>
            </span>
          </button>
        </>
      ) : (
        <span>
          {hasAgent ? 'You are writing to the agent. ' : `${NOTE} `}
          <button
            type="button"
            className="underline underline-offset-2"
            onClick={() => choose(only.interaction.interactionId)}
          >
            Reply to the request
          </button>
        </span>
      )}
      {target && <span className="basis-full">{target.effect}</span>}
      {isAmbiguous && recipient === 'log' && <span className="basis-full">{NOTE}</span>}
    </p>
  )
}

const NOTE = 'Note for the log: no agent reads it.'
/** A session may have thousands; those beyond can be chosen by focusing their card. */
const MAX_OPTIONS = 50

function TargetSelect({ composer }: { composer: ComposerControl }) {
  const { target, recipient, choices, choose, hasAgent } = composer
  const listed = choices.slice(0, MAX_OPTIONS)
  if (target && !listed.includes(target)) listed.push(target)
  const value =
    recipient === 'undecided' ? '' : target ? `request:${target.interaction.interactionId}` : 'nobody'
  return (
    <label className="flex min-w-0 flex-1 items-center gap-1.5">
      <span className="shrink-0">Replying to:</span>
      <select
        value={value}
        className={`min-w-0 max-w-full flex-1 truncate rounded-md border bg-raised px-1.5 py-1 text-xs font-medium text-ink pointer-coarse:py-2 pointer-coarse:text-base ${recipient === 'undecided' ? 'border-wait' : 'border-line'}`}
        onChange={(event) => {
          const { value: chosen } = event.target
          choose(chosen === 'nobody' ? null : chosen.slice('request:'.length))
        }}
      >
        <option value="" disabled>
          {`Choose one of ${choices.length + 1}…`}
        </option>
        {listed.map((choice) => (
          <option
            key={choice.interaction.interactionId}
            value={`request:${choice.interaction.interactionId}`}
          >
            {`${verbs[choice.interaction.kind] ?? 'Answer'}: ${spellOut(choice.about, 'prose')}`}
          </option>
        ))}
        <option value="nobody">{hasAgent ? 'Write to the agent' : 'Write a note for the log'}</option>
      </select>
    </label>
  )
}

/** What a reply does, in front of the agent's words. */
const verbs: Partial<Record<TextTarget['interaction']['kind'], string>> = {
  approval: 'Deny',
  plan_review: 'Request changes',
  question: 'Answer',
  form: 'Fill in',
}
