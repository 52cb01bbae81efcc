/**
 * Type guards. This module imports nothing at run time: the CLI loads it at every start, and the schemas would cost it more
 * than the command itself.
 */
import type { ApprovalAnswer, ApprovalRequest } from './approval.js'
import type { FormAnswer, FormRequest } from './form.js'
import type { Interaction } from './interaction.js'
import type { Json } from './json.js'
import type { PlanReviewAnswer, PlanReviewRequest } from './plan-review.js'
import type { QuestionAnswer, QuestionRequest } from './question.js'

type JsonObject = { [key: string]: Json }

interface KindTypes {
  question: { request: QuestionRequest; answer: QuestionAnswer }
  approval: { request: ApprovalRequest; answer: ApprovalAnswer }
  plan_review: { request: PlanReviewRequest; answer: PlanReviewAnswer }
  form: { request: FormRequest; answer: FormAnswer }
}

/** The kinds that every desk knows. */
export type BuiltInKind = keyof KindTypes

/**
 * One value for each built-in kind, looked up with the name of any kind. A table of this type does not compile until it has a
 * new built-in kind.
 *
 * @example
 * const titles: ByKind<string> = { question: 'Question', approval: 'Approval', plan_review: 'Plan', form: 'Form' }
 * const title = titles[interaction.kind] ?? 'Request'
 */
export type ByKind<Value> = Record<BuiltInKind, Value> & Readonly<Record<string, Value | undefined>>

/** An interaction of a built-in kind, with the types of its request and its answer. */
export interface InteractionOf<Kind extends BuiltInKind> extends Interaction {
  kind: Kind
  request: JsonObject & KindTypes[Kind]['request']
  /** Only there if it was settled as `answered`, `approved` or `denied`. */
  answer?: JsonObject & KindTypes[Kind]['answer']
}

const BUILT_IN: ByKind<true> = { question: true, approval: true, plan_review: true, form: true }

/** Whether every desk knows this kind, and not only one whose embedder has defined it. */
export function isBuiltInKind(kind: string): kind is BuiltInKind {
  return Object.hasOwn(BUILT_IN, kind)
}

/**
 * Whether an interaction is of this kind. Only for interactions of a desk or a gateway, which have checked request and answer
 * with the schemas of the kind; the guard does not check them again. Nobody can redefine a built-in kind.
 *
 * @example
 * if (isOfKind(interaction, 'approval')) console.log(interaction.request.input)
 */
export function isOfKind<Kind extends BuiltInKind>(
  interaction: Interaction,
  kind: Kind,
): interaction is InteractionOf<Kind> {
  return interaction.kind === kind
}

/**
 * Whether an interaction is of this kind and has an answer. The same holds for it as for `isOfKind`.
 *
 * @example
 * if (hasAnswer(interaction, 'question')) console.log(interaction.answer.answers[0]?.selected)
 */
export function hasAnswer<Kind extends BuiltInKind>(
  interaction: Interaction,
  kind: Kind,
): interaction is InteractionOf<Kind> & { answer: JsonObject & KindTypes[Kind]['answer'] } {
  return interaction.kind === kind && interaction.answer !== undefined
}

/**
 * Whether a value is an object with keys of its own, so not an array.
 *
 * @internal
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
