import { spellOut } from '@askback/protocol'
import { useComposer, type ComposerControl } from '@askback/react'
import { ArrowUpIcon } from 'lucide-react'
import { useEffect, useId, useRef } from 'react'
import { ReplyTarget } from './reply-target.js'

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
