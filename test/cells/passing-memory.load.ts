/** The memory of a cell for pushes and clones that it forwards. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { peakMemory, resetPeakMemory } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'
import { startShell } from '../support/processes.ts'
import { freePort } from '../support/servers.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const mebibyte = 2 ** 20
/** Files of 2 MB, which nothing compresses: three times what is allowed. */
const files = 80
const allowed = 50 * mebibyte

describe('a cell that passes on 160 MB', () => {
  let here: SpawnedGrove
  let there: SpawnedGrove
  let ann: PersonClient
  let desk: Desk
  /** Of a repository at `here`, reached through `there`. */
  let url: (node: string) => string

  before(async () => {
    const key = await newDataDir()
    const DATABASE_URL = await databaseFor(key)
    const start = async (name: string, dataDir: string) => {
      const port = String(await freePort())
      return spawnGrove(dataDir, { DATABASE_URL, CELL: name, CELL_URL: `http://127.0.0.1:${port}`, PORT: port })
    }
    here = await start('here', key)
    there = await start('there', await newDataDir())
    ann = await signUp(here, 'Ann')
    desk = await newDesk()
    const token = ann.session.accessToken
    url = (node) => `${there.url.replace('://', `://ann:${token}@`)}/git/${ann.org}/${node}.git`
    await desk.done(`git init -q source; cd source; git config core.compression 0; git config core.bigFileThreshold 1m
      for n in $(seq ${files}); do head -c 2000000 /dev/urandom > file-$n; done
      git add -A; git commit -qm Files`)
  })
  after(async () => {
    for (const grove of [here, there]) {
      await grove?.stop()
      if (grove !== undefined) await rm(grove.dataDir, { recursive: true, force: true })
    }
    await desk?.remove()
  })

  async function node(): Promise<string> {
    return (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Large', text_content: 'Text.' }).then(expecting(201)))
      .body.id
  }

  /** Bytes that the passing cell has more at its peak than before. */
  async function grownBy(work: () => Promise<unknown>): Promise<number> {
    await resetPeakMemory(there.pid)
    const before = await peakMemory(there.pid)
    await work()
    return (await peakMemory(there.pid)) - before
  }

  it('has less than 50 MiB more at its peak: pushed, cloned, and cloned by a client that stops reading', async () => {
    // The first large push of a process takes up to 52 MiB, with 300 MB no more than with 160; later ones take half of that.
    const small = await node()
    await desk.done(`git clone -q '${url(small)}' small; cd small; head -c 20000000 /dev/urandom > file; git add file
      git commit -qm File; git push -q origin main; cd ..; rm -rf small`)
    const large = await node()
    const pushed = await grownBy(() => desk.done(`git -C source push -q '${url(large)}' main:large`))
    expect(pushed, 'pushed').to.be.below(allowed)
    const cloned = await grownBy(() =>
      desk.done(
        `git clone -q --bare '${url(large)}' a; git -C a show large:file-${files} | cmp source/file-${files}; rm -rf a`,
      ),
    )
    expect(cloned, 'cloned').to.be.below(allowed)

    const clone = startShell(`git clone -q --bare '${url(large)}' stopped`, { cwd: desk.dir, env: process.env })
    const ended = new Promise((resolve) => clone.once('exit', resolve))
    const stopped = await grownBy(async () => {
      await until(() => received() > mebibyte)
      process.kill(-(clone.pid ?? 0), 'SIGSTOP')
      await until(settled())
      expect(received()).to.be.below(80 * mebibyte)
    })
    expect(stopped, 'cloned by one that stops reading').to.be.below(allowed)
    process.kill(-(clone.pid ?? 0), 'SIGCONT')
    expect(await ended).to.equal(0)
    await desk.done(`git -C stopped fsck --strict; rm -rf stopped`)
  })

  /** Bytes of the pack that the clone has written. */
  function received(): number {
    try {
      const folder = join(desk.dir, 'stopped/objects/pack')
      return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    } catch {
      return 0
    }
  }

  /** Whether the passing cell has read nothing between twenty looks. */
  function settled(): () => boolean {
    let last = ''
    let same = 0
    return () => {
      const now = /^rchar: (\d+)$/m.exec(readFileSync(`/proc/${there.pid}/io`, 'utf8'))?.[1] ?? ''
      same = now === last ? same + 1 : 0
      last = now
      return same === 20
    }
  }
})
