import type { SessionDefaults } from '@askback/core'
import { Agents } from './agents.js'
import { AllFollowers } from './all-followers.js'
import { cancel, respond } from './answers.js'
import { cancelAll, deleteRule, setMode } from './controls.js'
import { Clients } from './clients.js'
import { Connectors } from './connectors.js'
import { checkEnd } from './final-rules.js'
import { Followers } from './followers.js'
import { Hosts } from './hosts.js'
import { message, progress } from './messages.js'
import { randomPlan, type Plan } from './plan.js'
import { Random } from './random.js'
import { readSomething } from './readers.js'
import { report, reportMuch } from './reports.js'
import { quietMoment, rest, type Readers } from './idle-checks.js'
import { create, randomSession, recreate } from './sessions.js'
import { tail } from './tails.js'
import { microtasks, passTime } from './time.js'
import { Waits } from './waits.js'
import { World } from './world.js'

export interface Run {
  plan: Plan
  trace: string[]
  events: number
}

const MAX_STEPS = 5000

/** Makes the run of one seed: random commands and faults in steps, then rest without faults, then a check of every rule. */
export async function simulate(seed: number, tail = 60): Promise<Run> {
  const random = new Random(seed)
  const plan = randomPlan(random)
  const world = new World(random, plan)
  const { trace } = world
  try {
    await play(world)
  } catch (error) {
    const steps = trace.slice(-tail).join('\n  ')
    throw new Error(`seed ${seed} ${JSON.stringify(plan)}\n  ${steps}\n${String(error)}`, { cause: error })
  } finally {
    for (const process of world.live) process.desk.close()
  }
  const events = [...world.model.logs.values()].reduce((sum, log) => sum + log.events.length, 0)
  // A copy, as closing the desks may still add lines to the trace.
  return { plan, trace: [...trace], events }
}

async function play(world: World): Promise<void> {
  const { random, plan } = world
  const ids = Array.from({ length: plan.sessions }, (_, index) => `s${index + 1}`)
  const sessions = new Map(ids.map((id) => [id, randomSession(random, plan)]))
  const waits = new Waits(world)
  const agents = new Agents(world, waits, sessions)
  const followers = new Followers(world)
  const allFollowers = new AllFollowers(world)
  const clients = new Clients(world, (id) => {
    if (random.chance(plan.recreations / 4)) recreate(world, id, sessions.get(id)!)
  })
  const connectors = new Connectors(world)
  for (let slot = 0; slot < plan.processes; slot++) world.start(slot)
  for (const [id, session] of sessions) create(world, id, session)
  const hosts = new Hosts(world)
  const readers: Readers = {
    check: (isRepaired) => {
      for (const { checkListener } of world.live) checkListener(isRepaired)
      followers.checkAtRest(isRepaired)
      allFollowers.checkAtRest()
      world.network.checkAtRest()
    },
    act: () => {
      const sessionId = random.pick(ids)
      random.weighted<() => void>([
        [0.1, () => {}],
        [world.live.length > 0 ? plan.followers : 0, () => followers.act(sessionId)],
        [plan.clients, () => clients.act(sessionId)],
        [plan.tails, () => tail(world, sessionId)],
        [world.network.size > 0 ? plan.clients / 2 : 0, () => world.network.breakOne()],
      ])()
    },
    clients,
    connectors,
    hosts,
  }
  let commands = 0
  let rested = 0
  for (let step = 0; commands < plan.commands && step < MAX_STEPS; step++) {
    const { busy, live } = world
    await random.weighted<() => void | Promise<void>>([
      [busy.length > 0 ? plan.speed : 0, () => world.step()],
      [world.doorbells > 0 ? 3 : 0, () => world.deliverDoorbell()],
      [
        live.length === 0 ? 0 : world.running < 12 ? plan.pace : 0.1,
        () => {
          commands++
          if (plan.long && commands === 5) for (const id of ids) reportMuch(world, id)
          command(world, agents, random.pick([...sessions]))
        },
      ],
      [plan.clock, () => passTime(world)],
      [live.length > 0 ? plan.crashes : 0, () => world.crash(random.pick(live))],
      [world.needsProcess ? 1 : 0, () => world.startMissing()],
      [world.late.length > 0 ? 0.5 : 0, () => world.late.shift()?.()],
      [world.retries > 0 && live.length > 0 ? 1 : 0, () => world.retryOne()],
      [waits.size > 0 ? plan.aborts : 0, () => waits.abort()],
      [live.length > 0 ? plan.followers : 0, () => followers.act(random.pick(ids))],
      [live.length > 0 ? plan.followers / 4 : 0, () => allFollowers.act()],
      [plan.clients, () => clients.act(random.pick(ids))],
      [plan.tails, () => tail(world, random.pick(ids))],
      [plan.busOutages, () => world.toggleBusOutage()],
      [live.length > 0 && connectors.isDown ? 1 : 0, () => connectors.start()],
      [live.length > 0 && hosts.size > 0 ? plan.hostPace : 0, () => hosts.act()],
      [live.length > 1 && hosts.size > 0 ? plan.hostPace / 30 : 0, () => hosts.freeze()],
      [world.network.isBusy ? 4 : 0, () => world.network.step()],
      [world.network.size > 0 ? (plan.clients + plan.tails) / 4 : 0, () => world.network.breakOne()],
    ])()
    if (random.chance(plan.hurry)) {
      await microtasks(random.below(20))
      continue
    }
    await world.drain()
    waits.checkAborted()
    if (plan.restEvery === 0 || commands < rested + plan.restEvery) continue
    rested = commands
    await quietMoment(world, waits, readers)
  }
  await rest(world, waits, readers)
  clients.close()
  await checkEnd(world, waits)
}

function command(
  world: World,
  agents: Agents,
  [sessionId, session]: [id: string, session: SessionDefaults],
): void {
  world.random.weighted<() => void>([
    [9, () => agents.ask(sessionId)],
    [8, () => respond(world, sessionId)],
    [1, () => cancel(world, sessionId)],
    [1, () => progress(world, sessionId)],
    [2, () => message(world, sessionId)],
    [5, () => report(world, sessionId)],
    [0.5, () => cancelAll(world, sessionId, 'interrupt')],
    [0.4, () => cancelAll(world, sessionId, 'clear')],
    [world.plan.deletions, () => cancelAll(world, sessionId, 'delete')],
    [world.plan.recreations, () => recreate(world, sessionId, session)],
    [0.6, () => setMode(world, sessionId)],
    [0.4, () => deleteRule(world)],
    [2, () => readSomething(world, sessionId)],
  ])()
}
