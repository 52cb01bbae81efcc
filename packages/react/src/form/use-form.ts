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
import { joinTexts } from '../interaction/unsent.js'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useDraft } from '../use-draft.js'
import {
  fieldError,
  isSameToSend,
  shownFields,
  shownValues,
  startingValues,
  valueOf,
  valuesToSend,
} from './form-values.js'

export interface FormControl extends InteractionControl {
  request: FormRequest
  values: FormValues
  /** Those that are on screen with the values as they are. */
  visible: ReadonlySet<FormField>
  /** What the gateway refused, until it is changed, and what is wrong here once somebody tried to send it. */
  errors: FormErrors
  setValue: (name: string, value: Json) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  /** Sends the values, or names the first field that keeps it from that. */
  submit: () => string | null
}

/** A form without any looks. `null` where the request is none. */
export function useForm(interaction: Interaction, open?: boolean): FormControl | null {
  const control = useInteraction(interaction, open)
  const request = useMemo(() => {
    const parsed = formRequest.safeParse(interaction.request)
    return parsed.success ? parsed.data : null
  }, [interaction.request])
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  const [hasTried, setTried] = useState(false)
  const start = useMemo(
    () => (request ? startingValues(request, interaction.progress) : {}),
    [request, interaction.progress],
  )
  const values = useMemo(
    () => (request ? shownValues(request, { ...start, ...draft }) : {}),
    [request, start, draft],
  )
  const visible = useMemo(() => (request ? shownFields(request, values) : null), [request, values])
  if (!request || !visible) return null

  const errors: FormErrors = {}
  for (const field of visible) {
    const refused = isSameToSend(field, values, start) ? interaction.errors?.[field.name] : undefined
    const error = (hasTried ? fieldError(field, valueOf(values, field.name)) : null) ?? refused
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
      const wrong = [...visible].find((field) => fieldError(field, valueOf(values, field.name)) !== null)
      if (wrong) return wrong.name
      if (control.canAnswer) void control.respond({ values: valuesToSend(visible, values) })
      return null
    },
  }
}

function isDraft(value: unknown): value is FormValues {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
