import { planReviewAnswer, planReviewRequest, spellOut, type PlanDecision } from '@askback/protocol'
import { back, stale, type CardFlow, type Control } from './connector-card.js'

const decisions: Record<PlanDecision, string> = {
  edit: 'Proceed',
  clean_edit: 'Proceed with a fresh context',
  default: 'Approve, but ask before edits',
  adjust: 'Adjust…',
}

/** Four decisions; to adjust takes two steps, as often as it takes. */
export const planReviewFlow: CardFlow = {
  step: () => 0,
  body(item, view) {
    const { plan, planFilePath } = planReviewRequest.parse(item.request)
    const { asking } = view
    return {
      title: 'Review the plan',
      parts: [
        { as: 'markdown', text: spellOut(plan, 'prose') },
        ...(planFilePath
          ? [{ as: 'code' as const, text: spellOut(planFilePath, 'code'), label: 'File' }]
          : []),
      ],
      controls: asking ? [back] : Object.entries(decisions).map(([id, label]) => control(id, label)),
      asks: asking ? 'Send what should change as a text.' : null,
    }
  },
  take(_item, view, input) {
    if ('text' in input) {
      if (!view.asking) return { do: 'route' }
      return { do: 'answer', answer: { decision: 'adjust', feedback: input.text.trim() } }
    }
    switch (input.tap) {
      case 'edit':
      case 'clean_edit':
      case 'default':
        return { do: 'answer', answer: { decision: input.tap } }
      case 'adjust':
        return {
          do: 'show',
          view: { ...view, asking: { what: 'feedback', by: input.by } },
          told: 'Send what should change as a text.',
        }
      case 'back':
        return { do: 'show', view: { ...view, asking: null }, told: 'Nothing is decided yet.' }
      default:
        return stale
    }
  },
  how: (item) =>
    planReviewAnswer.safeParse(item.answer).data?.updatedPlan === undefined ? '' : ' as edited',
  said(item) {
    const parsed = planReviewAnswer.safeParse(item.answer)
    if (!parsed.success) return ''
    const { decision, feedback, updatedPlan } = parsed.data
    const said = decision === 'adjust' ? `Adjust: ${spellOut(feedback ?? '', 'prose')}` : decisions[decision]
    return updatedPlan === undefined ? said : `${said}\nAs edited:\n${spellOut(updatedPlan, 'prose')}`
  },
}

function control(id: string, label: string): Control {
  return { id, label, role: id === 'adjust' ? 'deny' : 'approve' }
}
