import { copyFileSync, existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from './command.js'
import { at, run, serve, sqlite, type RunningGateway } from './gateways.js'

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

async function askback(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const command = run(args, { HOME: newFolder(), PATH: '/nowhere', ...env })
  const { code } = await command.ended
  return { code, stdout: command.stdout, stderr: command.stderr }
}

async function answered(gateway: RunningGateway, sessionId: string): Promise<string> {
  const interaction = await gateway.open(sessionId)
  const { status } = await gateway.call('POST', `${at(interaction)}/response`, { body: sqlite })
  expect(status).toBe(200)
  return interaction.interactionId
}

async function statusOf(gateway: RunningGateway, interactionId: string): Promise<string> {
  const path = `/api/interactions/${interactionId}`
  const { body } = await gateway.call<{ interaction: { status: string } }>('GET', path)
  return body.interaction.status
}

describe('askback backup and restore', () => {
  it('copy everything that was acknowledged before, under load, to another folder', async () => {
    const gateway = await serve()
    const acknowledged: string[] = []
    const load = { isOver: false }
    const sessionIds = await Promise.all(Array.from({ length: 4 }, () => gateway.session()))
    const writers = sessionIds.map(async (sessionId) => {
      while (!load.isOver) acknowledged.push(await answered(gateway, sessionId))
    })
    await expect.poll(() => acknowledged.length).toBeGreaterThan(40)
    const waiting = await gateway.open(await gateway.session())
    const before = [...acknowledged]
    const file = join(newFolder(), 'backup.db')
    const made = await askback(['backup', file, '--data', gateway.data])
    load.isOver = true
    await Promise.all(writers)
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toMatch(/backup\.db: 5 sessions, \d+ events, \d+ pending, checked\.\n$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(file, '..'))).toEqual(['backup.db'])
    expect(acknowledged.length).toBeGreaterThan(before.length)
    await gateway.stop('SIGTERM')

    const data = join(newFolder(), 'elsewhere')
    expect(await askback(['restore', file, '--data', data])).toMatchObject({ code: 0, stderr: '' })
    expect(await askback(['doctor', '--deep', '--data', data])).toMatchObject({ code: 0 })
    const restored = await serve({ data })
    const states = await Promise.all(before.map((id) => statusOf(restored, id)))
    expect(new Set(states)).toEqual(new Set(['settled']))
    const { status } = await restored.call('POST', `${at(waiting)}/response`, { body: sqlite })
    expect(status).toBe(200)
  })

  it('work on a folder that no gateway uses', async () => {
    const gateway = await serve()
    const id = await answered(gateway, await gateway.session())
    await gateway.stop('SIGKILL')
    const file = join(newFolder(), 'backup.db')
    expect(await askback(['backup', file, '--data', gateway.data, '--json'])).toMatchObject({ code: 0 })
    const data = newFolder()
    expect(await askback(['restore', file, '--data', data])).toMatchObject({ code: 0 })
    expect(await statusOf(await serve({ data }), id)).toBe('settled')
  })

  it('never overwrite the data that they copy', async () => {
    const gateway = await serve()
    for (const name of ['askback.db', 'askback.db-wal']) {
      const file = join(gateway.data, name)
      expect(await askback(['backup', file, '--data', gateway.data, '--replace'])).toMatchObject({
        code: 2,
        stderr: `A gateway works with the file ${file}: choose another name.\n`,
      })
    }
    const id = await answered(gateway, await gateway.session())
    await gateway.stop('SIGKILL')
    expect(await statusOf(await serve({ data: gateway.data }), id)).toBe('settled')
  })

  it('overwrite nothing without --replace', async () => {
    const gateway = await serve()
    const file = join(newFolder(), 'backup.db')
    writeFileSync(file, 'precious')
    const refused = await askback(['backup', file, '--data', gateway.data])
    expect(refused).toMatchObject({
      code: 2,
      stderr: `There is a file ${file} already: choose another name, or give --replace.\n`,
    })
    expect(await askback(['backup', file, '--data', gateway.data, '--replace'])).toMatchObject({ code: 0 })

    const inUse = await askback(['restore', file, '--data', gateway.data, '--replace'])
    expect(inUse.code).toBe(6)
    expect(inUse.stderr).toContain(`is in use by process ${gateway.ready.pid}`)
    await gateway.stop('SIGTERM')
    const full = await askback(['restore', file, '--data', gateway.data])
    expect(full.code).toBe(2)
    expect(full.stderr).toContain('There is data in')
    expect(await askback(['restore', file, '--data', gateway.data, '--replace'])).toMatchObject({ code: 0 })
    await serve({ data: gateway.data })
  })

  it('never overwrite a file that a gateway works with', async () => {
    const [gateway, other] = [await serve(), await serve()]
    const names = ['askback.db', 'askback.db-wal', 'tokens.json']
    const files = names.map((name) => join(gateway.data, name))
    for (const file of [...files, join(other.data, 'askback.db')]) {
      const { code, stderr } = await askback(['backup', file, '--data', gateway.data, '--replace'])
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `A gateway works with the file ${file}: choose another name.\n`,
      })
    }
    const id = await answered(gateway, await gateway.session())
    await gateway.stop('SIGTERM')
    expect(await statusOf(await serve({ data: gateway.data }), id)).toBe('settled')
  })

  it.each([
    ['backup', '--store'],
    ['restore', '--store'],
    ['backup', 'ASKBACK_STORE'],
    ['restore', 'ASKBACK_STORE'],
  ])('%s with %s names the tools of PostgreSQL', async (command, how) => {
    const url = 'postgres://localhost/askback'
    const file = join(newFolder(), 'x.db')
    const ended =
      how === '--store'
        ? await askback([command, file, '--store', url])
        : await askback([command, file], { ASKBACK_STORE: url })
    expect(ended).toEqual({
      code: 2,
      stdout: '',
      stderr: 'The data is in PostgreSQL: back it up with pg_dump, and restore it with pg_restore.\n',
    })
    expect(existsSync(file)).toBe(false)
  })

  it('say in one sentence what is wrong', async () => {
    const gateway = await serve()
    const nowhere = join(newFolder(), 'missing', 'x.db')
    expect((await askback(['backup', nowhere, '--data', gateway.data])).stderr).toBe(
      `The backup ${nowhere} cannot be written: its folder does not exist.\n`,
    )
    expect((await askback(['backup', 'x.db', '--data', newFolder()])).stderr).toMatch(/^There is no data in /)
    expect((await askback(['restore', nowhere, '--data', newFolder()])).stderr).toBe(
      `There is no file ${nowhere}.\n`,
    )
    const folder = newFolder()
    expect((await askback(['backup', folder, '--data', gateway.data, '--replace'])).stderr).toBe(
      `${folder} is a folder: name a file in it.\n`,
    )
    expect((await askback(['backup'])).stderr).toBe('Usage: askback backup FILE. See askback --help.\n')
  })
})

describe('askback serve', () => {
  it('refuses to start if acknowledged events are missing, until that is accepted', async () => {
    const gateway = await serve()
    await answered(gateway, await gateway.session())
    await gateway.stop('SIGKILL')
    rmSync(join(gateway.data, 'askback.db-wal'))

    const refused = await askback(['serve', '--port', '0', '--json', '--data', gateway.data])
    expect(refused.code).toBe(6)
    expect(refused.stderr).toMatch(
      /^The database .*askback\.db lacks writes that were acknowledged: .*askback restore --replace, or accept the loss with askback doctor --accept-loss\.\n$/,
    )
    const looked = await askback(['doctor', '--data', gateway.data])
    expect(looked.code).toBe(1)
    expect(looked.stdout).toMatch(/✗ database +The database .* lacks writes/)
    const deep = await askback(['doctor', '--deep', '--data', gateway.data])
    expect(deep.code).toBe(1)
    expect(deep.stdout).toMatch(/✗ contents +The database .* lacks writes/)

    const accepted = await askback(['doctor', '--accept-loss', '--data', gateway.data])
    expect(accepted.stdout).toMatch(
      /✓ loss +accepted: a gateway starts with what is there\. The database .* is missing, cut or damaged\n/,
    )
    await serve({ data: gateway.data })
  })

  it('refuses to start without its database, until that is accepted', async () => {
    const gateway = await serve()
    await answered(gateway, await gateway.session())
    await gateway.stop('SIGKILL')
    rmSync(join(gateway.data, 'askback.db'))
    const looked = await askback(['doctor', '--data', gateway.data])
    expect(looked.code).toBe(1)
    expect(looked.stdout).toMatch(/✗ database +The database .* is gone/)
    const accepted = await askback(['doctor', '--accept-loss', '--data', gateway.data])
    expect(accepted.stdout).toMatch(/✓ loss +accepted: .* is gone/)
    await serve({ data: gateway.data })
  })

  it('leaves one database file after a signal', async () => {
    const gateway = await serve()
    await answered(gateway, await gateway.session())
    await gateway.stop('SIGTERM')
    const left = readdirSync(gateway.data).filter((name) => name.startsWith('askback.db'))
    expect(left).toEqual(['askback.db'])
    const data = newFolder()
    copyFileSync(join(gateway.data, 'askback.db'), join(data, 'askback.db'))
    await serve({ data })
  })
})

describe('askback doctor --deep', () => {
  it('reads everything through a gateway that runs, and leaves nothing behind', async () => {
    const gateway = await serve()
    await answered(gateway, await gateway.session())
    const before = readdirSync(gateway.data).toSorted()
    const { code, stdout } = await askback(['doctor', '--deep', '--data', gateway.data])
    expect(stdout).toMatch(/✓ contents +1 session, \d+ events, 0 pending: nothing is wrong\n/)
    expect(code).toBe(0)
    expect(readdirSync(gateway.data).toSorted()).toEqual(before)
  })

  it('prints a line for each finding, and exits with 1', async () => {
    const gateway = await serve()
    for (let index = 0; index < 20; index++) await answered(gateway, await gateway.session())
    await gateway.stop('SIGTERM')
    const file = join(gateway.data, 'askback.db')
    truncateSync(file, statSync(file).size - 8192)
    const { code, stdout } = await askback(['doctor', '--deep', '--data', gateway.data])
    expect(code).toBe(1)
    expect(stdout).toMatch(/✗ contents +\S/)
  })

  it('has nothing to read if no gateway has ever run', async () => {
    const { code, stdout } = await askback(['doctor', '--deep', '--data', newFolder()])
    expect(stdout).toMatch(/– contents +there is no database in /)
    expect(code).not.toBe(2)
  })
})
