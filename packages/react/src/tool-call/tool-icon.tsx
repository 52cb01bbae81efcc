import { Bot, FileText, Globe, PencilLine, Search, SquareTerminal, Wrench } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CallDescription } from '../content/describe-call.js'

const icons: Record<CallDescription['icon'], ReactNode> = {
  command: <SquareTerminal />,
  edit: <PencilLine />,
  file: <FileText />,
  search: <Search />,
  web: <Globe />,
  agent: <Bot />,
  tool: <Wrench />,
}

export function ToolIcon({ icon }: Pick<CallDescription, 'icon'>) {
  return (
    <span className="ab-tool-icon" aria-hidden>
      {icons[icon]}
    </span>
  )
}
