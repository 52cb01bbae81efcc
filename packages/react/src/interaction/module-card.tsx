import { copyJson, isRecord, spellOutLine, type Interaction, type Json } from '@askback/protocol'
import type { ComponentType } from 'react'
import { useCardGuard } from '../guard/card-guard.js'
import { MustSee } from '../guard/must-see.js'
import { CircleQuestionMarkIcon } from '../icons.js'
import { useLabels } from '../labels.js'
import { useDraft } from '../use-draft.js'
import { GuardedSubmit } from './guarded-submit.js'
import { InteractionCard } from './interaction-card.js'
import { PlainAnswer } from './settlement.js'
import type { InteractionControl } from './use-interaction.js'

/** The props of the component of a module. It draws the request and the controls; the card around it and the button to submit are ours. */
export interface ModuleRendererProps<Request = Json, Answer = Json> {
  request: Request
  interaction: Interaction
  /** What the person has chosen so far; `undefined` at the start. It survives a reload. */
  answer: Answer | undefined
  /** Call it with the whole answer after each change, or with `undefined` while there is nothing to submit. */
  onChange: (answer: Answer | undefined) => void
  /** Whether controls take input. */
  canAnswer: boolean
}

export interface ModuleCardProps {
  interaction: Interaction
  control: InteractionControl
  open: boolean
  title: string
  /** `null` while it is loaded. */
  component: ComponentType<ModuleRendererProps> | null
}

/** The card around the component. What is submitted is what the component last passed to `onChange`. */
export function ModuleCard({ interaction, control, open, title, component: Component }: ModuleCardProps) {
  const t = useLabels()
  const guard = useCardGuard()
  const [draft, setDraft] = useDraft(control.interaction, isModuleDraft)
  const answer = draft?.answer
  // A draft of an earlier visit is there before the request is drawn, and nobody may submit what is not on screen.
  const canSubmit = Component !== null && answer !== undefined
  const submit = () => {
    if (control.canAnswer && canSubmit) void control.respond(answer)
  }
  const change = (next: Json | undefined) => {
    // First without an answer: if the new one is not JSON, this throws, and the old one must not be submitted in its place.
    setDraft({})
    if (next !== undefined) setDraft({ answer: copyJson(next, 'The answer') })
  }
  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<CircleQuestionMarkIcon />}
      title={spellOutLine(title, 'prose')}
      onRetry={submit}
      summary={<PlainAnswer answer={control.interaction.answer} />}
    >
      {Component ? (
        <MustSee className="ab-card-text">
          <Component
            request={interaction.request}
            interaction={control.interaction}
            answer={answer}
            onChange={change}
            canAnswer={control.canAnswer}
          />
        </MustSee>
      ) : (
        <p className="ab-quiet">{t('Loading…')}</p>
      )}
      <GuardedSubmit control={control} guard={guard} disabled={!canSubmit} onPress={submit} />
    </InteractionCard>
  )
}

interface ModuleDraft {
  answer?: Json
}

function isModuleDraft(value: unknown): value is ModuleDraft {
  return isRecord(value) && Object.keys(value).every((key) => key === 'answer')
}
