import { ShownText } from '@askback/react'
import { hrefOf } from './route.js'

export function Trouble({ title, message }: { title: string; message: string }) {
  return (
    <div className="m-auto max-w-md px-6 text-center">
      <h1 className="text-lg font-semibold">{title}</h1>
      <p className="mt-2 text-sm text-soft">
        <ShownText text={message} />
      </p>
      <a
        href={hrefOf({ page: 'inbox' })}
        className="mt-4 inline-block text-sm text-brand underline underline-offset-2"
      >
        Go to the inbox
      </a>
    </div>
  )
}
