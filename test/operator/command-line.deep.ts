/** `grove` on a machine that is not as it should be: without a folder, without files. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { nextStep } from '../../server/process/data-folder.ts'
import { grove as command, outcomeOf } from '../support/command.ts'
import { type Grove, startGrove } from '../support/grove.ts'

describe('the command line', () => {
  let scratch: string
  let grove: Grove
  let garden: string

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-command-'))
    grove = await startGrove()
    garden = join(scratch, 'garden')
    await mkdir(garden)
    await writeFile(join(garden, 'a.md'), '# A\n')
  })
  after(async () => {
    await grove.close()
    await rm(scratch, { recursive: true, force: true })
  })

  describe('with a DATA_DIR that cannot be one', () => {
    let places: [string, string][]
    before(async () => {
      const at = await folder()
      await writeFile(join(at, 'file'), '')
      await symlink('nowhere', join(at, 'dangling'))
      await mkdir(join(at, 'occupied'))
      await writeFile(join(at, 'occupied/run'), '')
      const noFolder = 'is not a folder, or is below a file'
      const missing = 'cannot be created: a folder above it is missing, or a symbolic link is broken'
      places = [
        [join(at, 'file'), `${join(at, 'file')} is not a folder`],
        [join(at, 'file/below'), `${join(at, 'file/below')} ${noFolder}`],
        [join(at, 'dangling'), `${join(at, 'dangling')} ${missing}`],
        [join(at, 'dangling/below'), `${join(at, 'dangling/below')} ${missing}`],
        ['/proc/grove', `/proc/grove ${missing}`],
        [join(at, 'occupied'), `${join(at, 'occupied/run')} is not a folder`],
      ]
    })

    it('does not start the service, says why in a sentence, and ends with 1', async () => {
      for (const [dataDir, reason] of places) {
        const child = spawn(process.execPath, ['dist/main.js'], {
          env: { ...process.env, DATA_DIR: dataDir, PORT: '0' },
        })
        expect(await outcomeOf(child)).to.deep.equal({
          code: 1,
          stdout: '',
          stderr: `The configuration is not valid: DATA_DIR: ${reason}; ${nextStep}\n`,
        })
      }
    })

    it('runs no command, says why in a sentence, and ends with 2', async () => {
      for (const [dataDir, reason] of places) {
        const { code, stdout, stderr } = await command(dataDir, 'restore', scratch)
        expect({ code, stdout, stderr }).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: DATA_DIR: ${reason}; ${nextStep}\n`,
        })
      }
    })

    it('is not made by a command that only works on one that is there', async () => {
      const absent = join(await folder(), 'absent')
      for (const args of [['reindex'], ['import', garden, '--as', 'ann@example.org'], ['restore-node', `${id}/${id}`]])
        expect(await command(absent, ...args)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${absent} is not a folder\n`,
        })
    })
  })

  it('backs up into nothing but a folder', async () => {
    const file = join(await folder(), 'file')
    await writeFile(file, '')
    expect(await command(grove.dataDir, 'backup', file)).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: `grove: ${file} is not a folder\n`,
    })
    const { code, stderr } = await command(grove.dataDir, 'backup', '/proc/backup')
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: "grove: ENOENT: no such file or directory, mkdir '/proc/backup'\n",
    })
  })

  describe('with few open files', () => {
    it('starts the service with 64, which ends as it should when its terminal is closed', async () => {
      const dataDir = await folder()
      const child = spawn('sh', ['-c', 'ulimit -n 64; exec "$0" dist/main.js', process.execPath], {
        // It warns of the 64 files, if it gets so far before the signal.
        env: { ...process.env, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'error' },
      })
      const finished = outcomeOf(child)
      await Promise.race([new Promise((heard) => child.stdout.once('data', heard)), finished])
      child.kill('SIGHUP')
      const { code, stdout, stderr } = await finished
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      expect(stdout).to.match(/\nGrove is listening on http:\/\/127\.0\.0\.1:\d+\n$/)
    })

    it('says so in a sentence, of the service and of a command, if they are too few', async () => {
      const sentence =
        'Too many files are open: this process may open 28 (ulimit -n); a start needs 33, a service under load 4096\n'
      const limited = (...args: string[]) =>
        outcomeOf(
          spawn('sh', ['-c', 'ulimit -n 28; exec "$0" "$@"', process.execPath, ...args], {
            env: { ...process.env, DATA_DIR: scratch, PORT: '0', LOG_LEVEL: 'warn' },
          }),
        )
      expect(await limited('dist/main.js')).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `The service cannot start: ${sentence}`,
      })
      expect(await limited('dist/cli.js', 'reindex')).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `grove: ${sentence}`,
      })
    })
  })

  it('tells its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    const { code, stdout, stderr } = await command(scratch, '--version')
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout.replace(/ \([0-9a-f]{12}(-dirty)?\)\n$/, '\n')).to.equal(`${version}\n`)
  })

  function folder(): Promise<string> {
    return mkdtemp(join(scratch, 'folder-'))
  }
})

const id = '00000000-0000-4000-8000-000000000000'
