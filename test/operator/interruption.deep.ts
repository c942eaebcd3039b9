/** `grove` that is asked to end before its work is done. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as command, type Finished, runGroveCommand, startGroveCommand } from '../support/command.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { preload } from '../support/preload.ts'
import { until } from '../support/until.ts'
import { credentials } from './desk.ts'

describe('a command that is asked to end', () => {
  let scratch: string
  let grove: Grove
  let backup: string

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-interruption-'))
    grove = await startGrove()
    const ann = await signUp(grove, 'Ann')
    await newNode(grove, ann)
    backup = join(scratch, 'backup')
    await command(grove.dataDir, 'backup', backup)
  })
  after(async () => {
    await grove.close()
    await rm(scratch, { recursive: true, force: true })
  })

  const cases = [
    ['restore', 'SIGTERM', 143],
    ['backup', 'SIGINT', 130],
    ['doctor', 'SIGHUP', 129],
  ] as const
  for (const [name, signal, code] of cases) {
    it(`ends ${name} at ${signal} with ${code}, its gits at once, and leaves nothing half made`, async () => {
      const slow = await slowGit({ restore: 'fetch', backup: 'pack-objects', doctor: 'fsck' }[name])
      const target = await folder()
      const args = { restore: ['restore', backup], backup: ['backup', target], doctor: ['doctor'] }[name]
      const environment = { PATH: `${slow.bin}:${process.env.PATH}`, TMPDIR: slow.temporary }
      const dataDir = name === 'restore' ? target : grove.dataDir
      const { child, finished } = await startGroveCommand(dataDir, args, environment)
      await slow.startedBefore(finished)
      child.kill(signal)
      expect(await finished).to.deep.equal({
        code,
        stdout: '',
        stderr: `grove: interrupted by ${signal} before the work was done\n`,
      })
      expect((await slow.pids()).filter(isAlive)).to.deep.equal([])
      expect(await readdir(slow.temporary)).to.deep.equal([])
      const left = (await readdir(target, { recursive: true })).filter((path) => !/^(run|index|cred)/.test(path))
      expect(left.filter((path) => /restoring|tmp-|manifest|\.git/.test(path))).to.deep.equal([])
      // Nothing keeps the same command from being run again.
      expect((await command(dataDir, ...args)).code).to.equal(0)
    })
  }

  it('says what a restore that is ended while it indexes has filled', async () => {
    const target = await folder()
    const environment = preload(`
      const { write } = process.stderr
      process.stderr.write = (said, ...more) => {
        if (said.startsWith('Indexing')) process.emit('SIGTERM', 'SIGTERM')
        return write.call(process.stderr, said, ...more)
      }`)
    const both = credentials === 'DATABASE_URL'
    expect(await runGroveCommand(target, ['restore', backup], environment)).to.deep.equal({
      code: 143,
      stdout: both
        ? `${target} and the database of DATABASE_URL are only partly restored. Empty both before you restore again\n`
        : `${target} is only partly restored. Empty it before you restore again\n`,
      stderr: 'grove: interrupted by SIGTERM before the work was done\n',
    })
  })

  function folder(): Promise<string> {
    return mkdtemp(join(scratch, 'folder-'))
  }

  /** A `git` that hangs where it is asked to do `what`, and leaves a file of its process's number. */
  async function slowGit(what: string) {
    const [bin, temporary, hung] = [await folder(), await folder(), await folder()]
    const pids = async () => (await readdir(hung)).map(Number)
    const script = `#!/bin/sh\ncase " $* " in *" ${what} "*) : > ${hung}/$$; exec sleep 60;; esac
PATH=$(echo "$PATH" | cut -d: -f2-) exec git "$@"\n`
    await writeFile(join(bin, 'git'), script, { mode: 0o755 })
    return {
      bin,
      temporary,
      pids,
      /** @throws Error with what the command said, where it ended without this git */
      startedBefore: async (finished: Promise<Finished>) => {
        let said: Finished | undefined
        void finished.then((end) => {
          said = end
        })
        await until(async () => {
          if (said) throw new Error(`No git was asked to ${what}: ${JSON.stringify(said)}`)
          return (await pids()).length > 0
        })
      },
    }
  }
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
