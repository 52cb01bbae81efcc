import { spellOut } from '@askback/protocol'
import { SafeText, useComposer, type ComposerControl, type TextTarget } from '@askback/react'
import { ArrowUpIcon, XIcon } from '@askback/react/icons'
import { useEffect, useId, useRef } from 'react'

/** The text field at the bottom of a session, with the request that the text answers. */
export function Composer({ sessionId }: { sessionId: string }) {
  const composer = useComposer(sessionId)
  const { text, setText, recipient, canSend, notice, error, send } = composer
  const targetId = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => grow(field.current), [text])

  return (
    <form
      className="border-t border-line bg-page px-4 py-3 pb-[max(0.75rem,env(safe-area-inset-bottom))]"
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) void send()
      }}
    >
      <div className="mx-auto max-w-[46rem]">
        <ReplyTarget composer={composer} id={targetId} />
        <div className="flex items-end gap-2 rounded-xl border border-line bg-raised px-3 py-2 focus-within:border-brand">
          <textarea
            ref={field}
            dir="auto"
            rows={1}
            value={text}
            aria-label={labelOf(composer)}
            aria-describedby={targetId}
            placeholder={placeholders[recipient]}
            className="max-h-48 min-h-6 flex-1 resize-none bg-transparent py-1 text-sm leading-5 pointer-coarse:py-2 outline-none placeholder:text-soft pointer-coarse:text-base"
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
              event.preventDefault()
              if (canSend && !event.repeat) void send()
            }}
          />
          <button
            type="submit"
            aria-label="Send"
            disabled={!canSend}
            className="rounded-lg bg-primary p-1.5 text-on-primary transition-opacity disabled:opacity-30 pointer-coarse:p-2.5"
          >
            <ArrowUpIcon className="size-4" aria-hidden />
          </button>
        </div>
        {notice !== null && (
          <p role="alert" className="mt-2 text-xs text-wait">
            {notice}
          </p>
        )}
        {error && (
          <p role="alert" className="mt-2 text-xs text-bad">
            {error.message}
          </p>
        )}
      </div>
    </form>
  )
}

const placeholders: Record<ComposerControl['recipient'], string> = {
  interaction: 'Type your reply…',
  agent: 'Message the agent…',
  log: 'Add a note to the log…',
  undecided: 'Choose what you are replying to…',
}

function labelOf({ target, recipient }: ComposerControl): string {
  if (target) return `Reply to: ${spellOut(target.about, 'prose')}`
  if (recipient === 'undecided') return 'Reply'
  return recipient === 'agent' ? 'Message to the agent' : 'Note for the log'
}

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}

/** Says where the text goes and what it does there, and offers other targets. */
function ReplyTarget({ composer, id }: { composer: ComposerControl; id: string }) {
  const { target, recipient, choices, choose, hasAgent } = composer
  const isAmbiguous = choices.length > 1 || recipient === 'undecided'
  const [only] = choices
  // “The plan” is not quoted, as these are not words of the agent.
  const About = target?.interaction.kind === 'plan_review' ? 'span' : 'q'
  if (!only) {
    return recipient === 'log' ? (
      <p id={id} className="mb-2 text-xs text-soft">
        {NOTE_HINT}
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
              <SafeText text={target.about} />
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
          {hasAgent ? 'You are writing to the agent. ' : `${NOTE_HINT} `}
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
      {isAmbiguous && recipient === 'log' && <span className="basis-full">{NOTE_HINT}</span>}
    </p>
  )
}

const NOTE_HINT = 'Note for the log: no agent reads it.'
/** A session may have thousands of requests. Further ones are chosen by focusing their card. */
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

/** What a reply does, in front of words of the agent. */
const verbs: Partial<Record<TextTarget['interaction']['kind'], string>> = {
  approval: 'Deny',
  plan_review: 'Request changes',
  question: 'Answer',
  form: 'Fill in',
}
