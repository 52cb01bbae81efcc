import {
  formRequest,
  type FormErrors,
  type FormField,
  type FormRequest,
  type FormValues,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { useAnswer } from '../interaction/use-answer.js'
import type { InteractionControl } from '../interaction/use-interaction.js'
import { joinTexts } from '../use-draft.js'
import {
  fieldError,
  isSameToSend,
  shownFields,
  removeUnknownOptions,
  startValues,
  valueOf,
  valuesToSend,
} from './form-values.js'
import { useLabels } from '../labels.js'

/** What `useForm` returns, in addition to what `useInteraction` does. */
export interface FormControl extends InteractionControl {
  request: FormRequest
  values: FormValues
  /** The fields that are visible with the current values. */
  visible: ReadonlySet<FormField>
  /**
   * Errors by field name: what the gateway refused until it is changed, and after the first `submit` what the browser
   * finds.
   */
  errors: FormErrors
  setValue: (name: string, value: Json) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  /**
   * Sends the values and returns `null`; if a field is wrong, sends nothing and returns the name of the first one.
   */
  submit: () => string | null
}

/**
 * The state and the actions of a form, without any markup. Returns `null` if the request is not a valid form. Drafts
 * survive a reload.
 *
 * @example
 * const form = useForm(interaction)
 * return <button onClick={() => form?.submit()}>Submit</button>
 */
export function useForm(interaction: Interaction, open?: boolean): FormControl | null {
  const { control, request, draft, setDraft } = useAnswer(interaction, open, {
    request: formRequest,
    isDraft,
  })
  const start = useMemo(
    () => (request ? startValues(request, interaction.progress) : {}),
    [request, interaction.progress],
  )
  return useFormControl({ control, request, draft, setDraft, start, answerFrom })
}

export interface FormState {
  control: InteractionControl
  request: FormRequest | null
  draft: FormValues | null
  setDraft: (draft: FormValues) => void
  /** The values before the person changes any. */
  start: FormValues
  /** The answer that is sent for these values, or errors by field name. It must be the same on every render. */
  answerFrom: (values: FormValues) => { answer: Json } | { errors: FormErrors }
}

/** The state and the actions of a form for any kind of answer. Returns `null` without a request. */
export function useFormControl(state: FormState): FormControl | null {
  const { control, request, draft, setDraft, start, answerFrom: makeAnswer } = state
  const t = useLabels()
  const [hasTried, setTried] = useState(false)
  const values = useMemo(
    () => (request ? removeUnknownOptions(request, { ...start, ...draft }) : {}),
    [request, start, draft],
  )
  const visible = useMemo(() => (request ? shownFields(request, values) : null), [request, values])
  const made = useMemo(
    () => (visible ? makeAnswer(valuesToSend(visible, values)) : { errors: {} }),
    [makeAnswer, visible, values],
  )
  if (!request || !visible) return null

  const { errors: refusals } = control.interaction
  const unusable: FormErrors = 'errors' in made ? made.errors : {}
  const found = (field: FormField) =>
    fieldError(field, valueOf(values, field.name), t) ??
    (Object.hasOwn(unusable, field.name) ? unusable[field.name] : null)
  const errors: FormErrors = {}
  for (const field of visible) {
    const refused = isSameToSend(field, values, start) ? refusals?.[field.name] : undefined
    const error = (hasTried ? found(field) : null) ?? refused
    if (error !== undefined) errors[field.name] = error
  }

  return {
    ...control,
    request,
    values,
    visible,
    errors,
    setValue(name, value) {
      setDraft({ ...draft, [name]: value })
    },
    unsent: joinTexts(
      [...visible].map(({ name }) => (draft && Object.hasOwn(draft, name) ? draft[name] : null)),
    ),
    submit() {
      setTried(true)
      const wrong = [...visible].find((field) => (found(field) ?? null) !== null)
      if (wrong) return wrong.name
      if (control.canAnswer && 'answer' in made) void control.respond(made.answer)
      return null
    },
  }
}

function answerFrom(values: FormValues): { answer: Json } {
  return { answer: { values } }
}

export function isDraft(value: unknown): value is FormValues {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
