import { useComposer } from '@askback/react'
import { ArrowUpIcon, XIcon } from 'lucide-react'
import { useEffect, useRef } from 'react'

export function Composer({ sessionId }: { sessionId: string }) {
  const { text, setText, target, leave, goBack, canSend, error, send } = useComposer(sessionId)
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
        {target && (
          <p className="mb-2 flex items-start gap-2 text-xs leading-5 text-soft">
            <span className="min-w-0 flex-1">
              <span className="line-clamp-1">
                Replying to: <q className="font-medium text-ink">{target.about}</q>
              </span>
              <span className="block">{target.effect}</span>
            </span>
            <button
              type="button"
              className="flex shrink-0 items-center gap-1 rounded px-1.5 py-0.5 hover:bg-side"
              onClick={leave}
            >
              <XIcon className="size-3" aria-hidden />
              <span>
                Write to the agent<span className="max-sm:hidden"> instead</span>
              </span>
            </button>
          </p>
        )}
        {goBack && (
          <p className="mb-2 text-xs text-soft">
            To the agent.{' '}
            <button type="button" className="underline underline-offset-2" onClick={goBack}>
              Reply to what is asked
            </button>
          </p>
        )}
        <div className="flex items-end gap-2 rounded-xl border border-line bg-raised px-3 py-2 focus-within:border-brand">
          <textarea
            ref={field}
            rows={1}
            value={text}
            aria-label={target ? `Reply to: ${target.about}` : 'Message to the agent'}
            placeholder={target ? 'Type your reply…' : 'Message the agent…'}
            className="max-h-48 min-h-6 flex-1 resize-none bg-transparent py-1 text-sm leading-5 outline-none placeholder:text-soft"
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
            className="rounded-lg bg-primary p-1.5 text-on-primary transition-opacity disabled:opacity-30"
          >
            <ArrowUpIcon className="size-4" aria-hidden />
          </button>
        </div>
        {error && (
          <p role="alert" className="mt-2 text-xs text-bad">
            {error.message}
          </p>
        )}
      </div>
    </form>
  )
}

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}
