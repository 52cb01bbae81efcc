import { spellOut } from '@askback/protocol'
import { ShownText, useComposer } from '@askback/react'
import { ArrowUpIcon, XIcon } from 'lucide-react'
import { useEffect, useRef } from 'react'

export function Composer({ sessionId }: { sessionId: string }) {
  const { text, setText, target, leave, goBack, canSend, notice, error, send } = useComposer(sessionId)
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
          <p className="mb-2 flex flex-wrap items-center gap-x-2 text-xs leading-5 text-soft">
            <span className="flex min-w-0 flex-1 gap-1">
              <span className="shrink-0">Replying to: </span>
              <q className="truncate font-medium text-ink" dir="auto">
                <ShownText text={target.about} />
              </q>
            </span>
            <button
              type="button"
              className="-mr-1.5 flex shrink-0 items-center gap-1 rounded px-1.5 py-0.5 hover:bg-side touchable"
              onClick={leave}
            >
              <XIcon className="size-3" aria-hidden />
              <span>
                Write to the agent<span className="max-sm:hidden"> instead</span>
              </span>
            </button>
            <span className="basis-full">{target.effect}</span>
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
            dir="auto"
            rows={1}
            value={text}
            aria-label={target ? `Reply to: ${spellOut(target.about, 'prose')}` : 'Message to the agent'}
            placeholder={target ? 'Type your reply…' : 'Message the agent…'}
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

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}
