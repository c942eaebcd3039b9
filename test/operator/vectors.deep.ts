/** Vectors in backups, in `doctor`, and after damage. */
import { existsSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { isEmbedded, openScene, rowsOf } from '../embeddings/embedder-scene.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { cli, folder, useDesk } from './desk.ts'

describe('vectors, for an operator', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let rows: Awaited<ReturnType<typeof rowsOf>>

  before(async () => {
    grove = await startGrove({ dataDir: await folder(), sweeps: false })
    ann = await signUp(grove, 'Ann')
    for (const title of ['Whales', 'Seals', 'Krill']) await newNode(grove, ann, { title })
    const scene = await openScene(grove)
    scene.embed()
    await until(() => isEmbedded(scene, grove, ann.org))
    rows = await rowsOf(scene, ann.org)
    await scene.close()
  })
  after(() => grove.close())

  it('come back from a backup, and no text is embedded again', async () => {
    const backup = join(await folder(), 'backup')
    expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
    expect(JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')).vectors.sha256).to.match(/^[0-9a-f]{64}$/)
    expect((await stat(join(backup, 'vectors.sqlite'))).mode & 0o777).to.equal(0o600)
    const dataDir = await folder()
    expect(await cli(dataDir, 'restore', backup)).to.include({ code: 0, stderr: '' })
    const doctor = await cli(dataDir, 'doctor')
    expect(doctor.stdout).to.match(/vectors\.sqlite: schema 001_first/)
    expect(doctor.stdout).to.include('OK: no problems found')

    const again = await startGrove({ dataDir, sweeps: false })
    const scene = await openScene(again)
    scene.embed()
    await until(() => isEmbedded(scene, again, ann.org))
    expect(await rowsOf(scene, ann.org)).to.deep.equal(rows)
    expect(scene.model.texts).to.deep.equal([])
    await scene.close()
    await again.close()
  })

  it('are not in a backup of a service that has none', async () => {
    const other = await startGrove({ dataDir: await folder(), sweeps: false })
    await signUp(other, 'Cat')
    const backup = join(await folder(), 'backup')
    expect((await cli(other.dataDir, 'backup', backup)).code).to.equal(0)
    expect(existsSync(join(backup, 'vectors.sqlite'))).to.equal(false)
    expect((await cli(other.dataDir, 'doctor')).stdout).not.to.include('vectors')
    await other.close()
  })

  it('that are damaged are reported, and set aside at the next start', async () => {
    const backup = join(await folder(), 'backup')
    await cli(grove.dataDir, 'backup', backup)
    await writeFile(join(backup, 'vectors.sqlite'), 'not a database'.repeat(1_000))
    const dataDir = await folder()
    const restored = await cli(dataDir, 'restore', backup)
    expect(restored.code).to.equal(1)
    expect(restored.stdout).to.match(/vectors\.sqlite: damaged; a service with a model embeds all texts again/)
    expect(existsSync(join(dataDir, 'vectors.sqlite'))).to.equal(false)

    await writeFile(join(dataDir, 'vectors.sqlite'), 'not a database'.repeat(1_000))
    const { code, stdout } = await cli(dataDir, 'doctor')
    expect(code).to.equal(1)
    expect(stdout).to.match(/vectors\.sqlite.*begins another one/)
    const again = await startGrove({ dataDir, sweeps: false })
    const scene = await openScene(again)
    scene.embed()
    await until(() => isEmbedded(scene, again, ann.org))
    expect(existsSync(join(dataDir, 'vectors.sqlite.damaged'))).to.equal(true)
    expect(scene.model.texts.sort()).to.include.members(['Krill', 'Seals', 'Whales'])
    await scene.close()
    await again.close()
    await rm(dataDir, { recursive: true })
  })
})
