import type { ApprovalRule, BoundDesk } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import * as z from 'zod'
import type { CallAccess } from '../access/call-access.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok, rule } from './schemas.js'

export function ruleRoutes({ host: { desk } }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'listRules',
      method: 'GET',
      path: '/api/rules',
      allowed: 'person',
      action: 'filtered',
      summary: 'Lists the approval rules, for a session or for always',
      responses: { 200: z.object({ rules: z.array(rule) }) },
      async handle({ access }) {
        const rules = await desk.rules()
        return { status: 200, body: { rules: access ? await readableRules(rules, access) : rules } }
      },
    }),
    route({
      name: 'deleteRule',
      method: 'DELETE',
      path: '/api/rules/:id',
      allowed: 'person',
      action: 'checked',
      summary: 'Deletes a rule: the next such call asks again',
      params: z.object({ id: z.string() }),
      responses: { 200: ok },
      errors: [404, 409],
      async handle({ params, access, host, idempotencyKey }) {
        if (access) await checkRule(host.desk, params.id, access)
        await host.desk.deleteRule(params.id, { idempotencyKey })
        return okResponse
      },
    }),
  ]
}

/** A rule of a session is its readers' business; one for always also applies to sessions that they may not see. */
async function readableRules(rules: ApprovalRule[], access: CallAccess): Promise<ApprovalRule[]> {
  const ofSessions = rules.filter((each) => each.scope === 'session')
  const readable = new Set<ApprovalRule>(await access.readable(ofSessions, ({ sessionId }) => sessionId))
  const mayAdminister = await access.mayAdminister()
  return rules.filter((each) => (each.scope === 'session' ? readable.has(each) : mayAdminister))
}

/** A rule that the caller may not see does not exist for them. */
async function checkRule(desk: BoundDesk, id: string, access: CallAccess): Promise<void> {
  const [found] = await readableRules(
    (await desk.rules()).filter((each) => each.id === id),
    access,
  )
  if (!found) throw new AskbackError('not_found', `There is no rule ${id}.`)
  if (found.scope === 'session') await access.check(found.sessionId, 'manage')
}
