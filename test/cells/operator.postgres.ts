/** The operator lists cells, opens and closes them, and runs doctor, commands and a restore. */
import { execFile } from 'node:child_process'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { insertPlaces } from '../../index/credentials/places.ts'
import { type Finished, runGroveCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { cellNamed, database, here, placeOf, signIn, startCell, there, useCells } from './scene.ts'

const run = promisify(execFile)

describe('grove, of cells', () => {
  useCells()

  const grove = (args: readonly string[], { dataDir = here.dataDir, cell = 'here' } = {}): Promise<Finished> =>
    runGroveCommand(dataDir, args, { DATABASE_URL: database, CELL: cell, CELL_URL: cellNamed(cell).url })

  it('lists them, and opens and closes one', async () => {
    await signUp(here, 'Ann')
    const { code, stdout, stderr } = await grove(['cells'])
    expect([code, stderr]).to.deep.equal([0, ''])
    const lease = String.raw`lease 1 until \d{4}-\d\d-\d\dT[\d:.]+Z`
    expect(stdout).to.match(
      RegExp(
        `^here http://here\\.example:3000: ${lease}; open, weight 1; 1 organisation\n` +
          `there http://there\\.example:3000: ${lease}; open, weight 1; 0 organisations\n$`,
      ),
    )
    expect((await grove(['cells', 'there', '--close', '--weight', '3'])).stdout).to.match(
      /; closed; 0 organisations\n$/,
    )
    expect((await grove(['cells', 'there', '--open'])).stdout).to.match(/^there .*; open, weight 3; /)
    for (const [args, said] of [
      [['nowhere'], 'There is no cell nowhere; grove cells lists all'],
      [['--close'], 'Name the cell to change'],
      [['there', '--open', '--close'], '--open and --close cannot be combined'],
      [['there', '--weight', '1e3'], '--weight must be a whole number from 0 to 1000'],
    ] as const)
      expect(await grove(['cells', ...args])).to.deep.equal({ code: 2, stdout: '', stderr: `grove: ${said}\n` })
  })

  it('changes an organisation beside the service, whose lease it shares', async () => {
    const [bob, cleo] = [await signUp(here, 'Bob'), await signUp(there, 'Cleo')]
    const { code, stderr } = await grove(['member', 'add', bob.org, cleo.user.email, 'editor'])
    expect([code, stderr]).to.deep.equal([0, ''])
    const { orgs } = (await cleo.get('/orgs').then(expecting(200))).body
    expect(orgs.map(({ id, role }: { id: string; role: string }) => [id, role])).to.deep.include([bob.org, 'editor'])
    // A copy of the folder has no part in it.
    const dataDir = await newDataDir()
    // By another process: one that closes a copied file of locks drops its own.
    await run('cp', ['-a', `${here.dataDir}/.`, dataDir])
    const refused = await grove(['member', 'add', bob.org, cleo.user.email, 'owner'], { dataDir })
    expect([refused.code, refused.stderr]).to.deep.equal([
      2,
      'grove: Another data folder or machine has the lease of this cell, or a process was killed in the last 10 s. Nothing was changed; try again in 10 s\n',
    ])
    await rm(dataDir, { recursive: true })
  })

  it('finds what the directory and the folders do not agree on', async () => {
    const sound = await grove(['doctor'])
    expect([sound.code, sound.stderr]).to.deep.equal([0, ''])
    const dee = await signUp(there, 'Dee')
    const missing = newId()
    await here.deps.credentials.write((trx) => insertPlaces(trx, 'here', [missing], 'here'))
    await cp(join(there.dataDir, dee.org), join(here.dataDir, dee.org), { recursive: true })
    await mkdir(join(here.dataDir, `foreign-${missing}`))
    const { code, stdout } = await grove(['doctor'])
    expect(code).to.equal(1)
    for (const line of [
      `${dee.org}: belongs to the cell there; the next start sets it aside`,
      `${missing}: is missing, but the directory says that it is here`,
      `(note) foreign-${missing}: was set aside: another cell has it`,
    ])
      expect(stdout).to.include(`  ${line}\n`)
    await rm(join(here.dataDir, dee.org), { recursive: true })
  })

  it('restores the organisations of a cell whose disk is lost, and leaves the accounts of all as they are', async () => {
    const [dataDir, copy] = [await newDataDir(), await newDataDir()]
    const lost = await startCell('lost', { dataDir })
    const eve = await signUp(lost, 'Eve')
    const backup = await grove(['backup', copy], { dataDir, cell: 'lost' })
    expect(backup.code, backup.stderr).to.equal(0)
    await lost.close()
    const later = await signUp(there, 'Later')
    await rm(dataDir, { recursive: true })
    const restored = await grove(['restore', copy], { dataDir, cell: 'lost' })
    expect(restored.code, restored.stderr + restored.stdout).to.equal(0)
    expect(restored.stdout).to.include('Accounts in the database were not changed')
    const again = await startCell('lost', { dataDir })
    await (await signIn(again, eve)).patch(`/orgs/${eve.org}`, { name: 'Back' }).then(expecting(200))
    expect(await placeOf(eve.org)).to.include({ cell: 'lost', state: 'here' })
    await signIn(there, later)
    await again.close()
    for (const folder of [dataDir, copy]) await rm(folder, { recursive: true })
  })
})
