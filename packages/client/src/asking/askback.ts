import type {
  ApprovalRequest,
  CreateSessionBody,
  Duration,
  FormValues,
  Interaction,
  Json,
  PlanDecision,
  PlanReviewRequest,
  QuestionReply,
  SessionEvent,
  StandardSchema,
} from '@askback/protocol'
import type { Asked } from './asked.js'

/**
 * A desk as a program uses it that asks people: in the same process, or behind a gateway. `connect` makes one.
 *
 * @example
 * const askback = connect({ url: 'http://127.0.0.1:4100', token })
 * const session = askback.session('deploy')
 * const region = await session.choose('Which region?', ['Europe', 'America'])
 */
export interface Askback {
  /**
   * The session of this name, which is made when it is first used. The same name leads to the same session, also after a restart, as
   * long as the token is the same. `{ id }` is a session that exists, such as the one in `ASKBACK_SESSION` of an agent's shell.
   *
   * @example
   * const nightly = askback.session('nightly', { title: 'The nightly build' })
   * const ofAgent = askback.session({ id: process.env.ASKBACK_SESSION })
   */
  session(session: string | { id: string }, options?: AskbackSessionOptions): AskbackSession
  /**
   * Everything that waits for a person now, and then what comes, in all sessions; each request once. It needs a person's token.
   * The loop ends when `signal` aborts.
   *
   * @example
   * for await (const request of askback.requests({ signal }))
   *   if (request.toolName === 'list-files') await askback.respond(request, { decision: 'approve' })
   */
  requests(options?: { signal?: AbortSignal }): AsyncIterable<Interaction>
  /**
   * Answers a request as the person of the token, if it still asks what the caller has seen. Throws `already_settled` if another answer was
   * faster, and `invalid_answer` if the answer does not fit.
   *
   * @example
   * await askback.respond(request, { answers: [{ selected: ['SQLite'] }] })
   */
  respond(request: Interaction, answer: Json, options?: { signal?: AbortSignal }): Promise<Interaction>
  /** Ends all waits and loops of this object, which reject as `unavailable`. Nothing is cancelled: what was asked stays pending. */
  close(): void
}

/** How a session is made if it does not exist. */
export interface AskbackSessionOptions extends Pick<CreateSessionBody, 'cwd' | 'title'> {}

/** Options of every way to ask. */
export interface AskingOptions {
  /**
   * Makes a program that was restarted find the request it has made before, instead of asking again: the same key in the same session is the
   * same request, and its answer is returned again. An approval is different: it allows one call, so that a second
   * read of it is `in_doubt`. A key that was used for another request is refused as `idempotency_mismatch`.
   *
   * @default none: each call is a new request
   */
  key?: string
  /**
   * How long to wait for a person: milliseconds, a text such as `'90s'` or `'2d'`, or `'never'` for no limit.
   *
   * @default the default of the desk, which is 10 minutes unless it is set
   */
  timeout?: Duration
  /**
   * What happens at the deadline: the request times out, or it stays open as overdue.
   *
   * @default 'deny'
   */
  onTimeout?: 'deny' | 'keep'
  /** Ends the wait, which rejects with the reason of the signal. The request stays pending. */
  signal?: AbortSignal
  /** Cancels the request, because its answer is no longer needed. It then ends as `cancelled`, or with an answer that was faster. */
  cancelOn?: AbortSignal
  /** The tool call of an agent that this request belongs to. */
  toolCallId?: string
  /** Called when the request is stored. With a `key` it may have been settled before. */
  onOpen?: (interaction: Interaction) => void
  /**
   * Called when the request is settled, and before this program claims the settlement. An approval that was claimed is `in_doubt` for every
   * later reader, so a program that needs several approvals before it acts lets each wait here until all are settled.
   */
  onSettled?: (interaction: Interaction) => void | Promise<void>
}

/** An option to choose: its label, or the label with what helps to decide. */
export type Choice<Label extends string> = Label | { label: Label; description?: string; preview?: string }

export interface ChooseOptions<Value> extends AskingOptions {
  /** A short name of the question, of up to 12 characters. */
  header?: string
  /** The answer if nobody answers in time. It is logged as such, and not as that of a person. */
  defaultAnswer?: Value
}

/** A text of the person's own, where they were asked to choose. */
export interface OtherText {
  other: string
}

/** What a person selected of several options, and what they added. */
export interface SelectedChoices<Label extends string> {
  selected: Label[]
  other?: string
}

/** One of several questions that are asked together. */
export interface TypedQuestion<Label extends string = string> {
  question: string
  header?: string
  /** Without choices the question asks for a text. */
  choices?: readonly Choice<Label>[]
  /** @default false */
  multiple?: boolean
}

/** The reply to each question of a list, with its labels as types. */
export type TypedReplies<Questions extends readonly TypedQuestion[]> = {
  -readonly [Index in keyof Questions]: TypedReply<LabelOf<Questions[Index]>>
}

/** The reply to a question, with the labels of its options as types. */
export interface TypedReply<Label extends string> extends Omit<QuestionReply, 'selected'> {
  selected: Label[]
}

type LabelOf<Question> = Question extends { choices: readonly (infer Each)[] }
  ? Each extends string
    ? Each
    : Each extends { label: infer Label extends string }
      ? Label
      : never
  : never

export interface ApproveOptions<Input>
  extends AskingOptions, Partial<Pick<ApprovalRequest, 'title' | 'description' | 'reason' | 'preview'>> {
  /** Checks an input that the person has edited. Without it an edited input counts as no answer, because nothing says that it fits. */
  schema?: StandardSchema<Input>
}

/** The options of `withApproval`. */
export interface WithApprovalOptions<Input> extends Omit<ApproveOptions<Input>, 'key'> {
  /**
   * The key of a call: see `AskingOptions`. With it the call runs at most once for each key, also after a restart, and its result is stored in
   * the log of the session, where people can read it: a call with a key that has run resolves with that result, or throws
   * `CallFailed`. It is `in_doubt` only if the program was killed while the call ran, or if the result is no JSON or longer than 256 KB.
   */
  key?: (input: Input) => string
}

export interface ReviewPlanOptions extends AskingOptions, Partial<Pick<PlanReviewRequest, 'planFilePath'>> {}

/** A plan that a person agreed to. */
export interface PlanApproval {
  /** The plan as it was shown, or as the person edited it. */
  plan: string
  decision: Exclude<PlanDecision, 'adjust'>
}

export interface FormOptions extends AskingOptions {
  /** @default the description or the title of the schema */
  message?: string
  /** What the fields hold at first. They count more than the defaults of the schema. */
  initialValues?: FormValues
  /** The values if nobody answers in time. They must fit the schema. */
  defaultAnswer?: FormValues
}

/** The part of a kind that asking needs; `defineInteraction` of `@askback/core` makes one. */
export interface AskedKind<Request, Answer> {
  kind: string
  request: StandardSchema<Request>
  answer: StandardSchema<Answer>
}

/**
 * A session in which a program asks people. Each request is stored before anybody sees it, so a lost connection or a restart of
 * the gateway costs time, and no answer.
 *
 * Each way to ask resolves with the answer, and throws `NotAnswered` if the request ended without one; `outcome()` of the promise
 * has both as a value. A misspelled option is refused as `invalid_request`.
 */
export interface AskbackSession {
  /**
   * The id of the session, which is made if it does not exist.
   *
   * @example
   * console.log('asking in session', await session.id())
   */
  id(options?: { signal?: AbortSignal }): Promise<string>
  /**
   * Asks for one of up to eight options. People can always write a text of their own: with `allowOther` that is an answer as well,
   * without it there is no answer, for the reason `other_text`.
   *
   * @example
   * const database = await session.choose('Which database?', ['PostgreSQL', 'SQLite'])
   * const size = await session.choose('Which size?', ['S', 'L'], { allowOther: true, timeout: '2h' })
   * if (typeof size === 'object') console.log('Somebody wrote', size.other)
   */
  choose<const Label extends string>(
    question: string,
    choices: readonly Choice<Label>[],
    options?: ChooseOptions<NoInfer<Label>> & { allowOther?: false },
  ): Asked<Label>
  choose<const Label extends string>(
    question: string,
    choices: readonly Choice<Label>[],
    options: ChooseOptions<NoInfer<Label>> & { allowOther: true },
  ): Asked<Label | OtherText>
  /**
   * Asks for any number of options, at least one.
   *
   * @example
   * const checks = await session.chooseMany('Which checks?', ['lint', 'types', 'tests'])
   */
  chooseMany<const Label extends string>(
    question: string,
    choices: readonly Choice<Label>[],
    options?: ChooseOptions<readonly NoInfer<Label>[]> & { allowOther?: false },
  ): Asked<Label[]>
  chooseMany<const Label extends string>(
    question: string,
    choices: readonly Choice<Label>[],
    options: ChooseOptions<readonly NoInfer<Label>[]> & { allowOther: true },
  ): Asked<SelectedChoices<Label>>
  /**
   * Asks for a text.
   *
   * @example
   * const name = await session.askText('What should the branch be called?')
   */
  askText(question: string, options?: ChooseOptions<string>): Asked<string>
  /**
   * Asks up to four questions on one card. A reply has what was selected, and a text of the person's own as `other`.
   *
   * @example
   * const [database, checks] = await session.ask([
   *   { question: 'Which database?', choices: ['PostgreSQL', 'SQLite'] },
   *   { question: 'Which checks?', choices: ['lint', 'tests'], multiple: true },
   * ])
   */
  ask<const Questions extends readonly TypedQuestion[]>(
    questions: Questions,
    options?: AskingOptions,
  ): Asked<TypedReplies<Questions>>
  /**
   * Asks whether `toolName` may run with exactly this input. Resolves with the input that may run: as it was shown or, with a `schema`, as the
   * person edited it. It may run once.
   *
   * @example
   * const { version } = await session.approve('deploy', { version: '1.4.0' }, { title: 'Deploy 1.4.0' })
   */
  approve<Input>(toolName: string, input: Input, options?: ApproveOptions<NoInfer<Input>>): Asked<Input>
  /**
   * Wraps a function so that each call needs an approval. It runs with the input that was approved, and at most once for each approval: with
   * a `key`, a restarted program that calls it again gets the same approval or the result, and never runs twice what may have run.
   *
   * @example
   * const deploy = session.withApproval('deploy', run, { key: (version) => `deploy-${version}`, timeout: '2d' })
   * await deploy('1.4.0')
   */
  withApproval<Input, Result>(
    toolName: string,
    run: (input: Input) => Result | Promise<Result>,
    options?: WithApprovalOptions<NoInfer<Input>>,
  ): (input: Input, options?: Pick<AskingOptions, 'signal' | 'cancelOn' | 'onOpen'>) => Promise<Result>
  /**
   * Asks to review a plan. A person who wants it changed denies it: `message` has what to change.
   *
   * @example
   * const { plan } = await session.reviewPlan('1. Add the column\n2. Fill it')
   */
  reviewPlan(plan: string, options?: ReviewPlanOptions): Asked<PlanApproval>
  /**
   * Asks with a form that is made from a schema, and resolves with the schema's output. Values that the form accepts and the schema
   * does not are asked for again, with the reason, until the deadline. Throws `invalid_request`, before anybody is asked, for a schema that
   * is asynchronous or that a form cannot ask.
   *
   * @example
   * const { port } = await session.form(z.object({ port: z.number().int().min(1) }), { message: 'Where does it listen?' })
   */
  form<Value>(schema: StandardSchema<Value>, options?: FormOptions): Asked<Value>
  /**
   * Asks with a kind of your own, which the desk or the gateway must know.
   *
   * @example
   * const { stars } = await session.request(rating, { subject: 'The new layout' })
   */
  request<Request, Answer>(
    kind: AskedKind<Request, Answer>,
    request: NoInfer<Request>,
    options?: AskingOptions,
  ): Asked<Answer>
  /**
   * The events of the session's log in their order, each once, and then new ones as they happen. The loop ends when `signal` aborts.
   * It throws `not_found` when the session is deleted.
   *
   * @example
   * for await (const event of session.events({ signal })) console.log(event.seq, event.type)
   */
  events(options?: ReadEventsOptions): AsyncIterable<SessionEvent>
}

/** Which events to read, and until when. */
export interface ReadEventsOptions {
  /**
   * The `seq` of the last event that is known: the loop begins behind it.
   *
   * @default 0
   */
  after?: number
  signal?: AbortSignal
}
