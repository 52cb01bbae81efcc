import { z } from 'zod'

const option = z.object({
  label: z.string().refine((label) => label.trim() !== '', 'must not be empty'),
  description: z.string().optional(),
  preview: z.string().optional(),
})

const question = z.object({
  header: z.string().optional(),
  question: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
  options: z
    .array(option)
    .max(8, 'must have at most 8 options')
    .superRefine((options, context) => {
      for (let index = 1; index < options.length; index++) {
        const { label } = options[index]!
        if (options.findIndex((other) => other.label === label) === index) continue
        context.addIssue({
          code: 'custom',
          path: [index, 'label'],
          message: `repeats the label ${JSON.stringify(label)}`,
        })
      }
    }),
  multiSelect: z.boolean().optional(),
})

export const questionRequest = z.object({
  questions: z
    .array(question)
    .min(1, 'must have at least 1 question')
    .max(4, 'must have at most 4 questions'),
})

export const questionReply = z.strictObject({
  selected: z.array(z.string()),
  other: z.string().optional(),
  note: z.string().optional(),
})

export const questionAnswer = z.strictObject({ answers: z.array(questionReply) })

export type Question = z.infer<typeof question>
export type QuestionRequest = z.infer<typeof questionRequest>
export type QuestionReply = z.infer<typeof questionReply>
export type QuestionAnswer = z.infer<typeof questionAnswer>
