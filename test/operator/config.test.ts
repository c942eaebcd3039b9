/** `grove config check`, and what a start says of the same. */

import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { readConfig } from '../../server/base/config.ts'
import { checkConfig } from '../../server/process/config-check.ts'
import { nextStep } from '../../server/process/data-folder.ts'
import { failing } from '../support/failing.ts'
import { signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { cliWith, run } from './desk.ts'

describe('grove config check', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-config-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const check = (environment: Record<string, string> = {}) =>
    cliWith({ DATA_DIR: folder, ...environment }, 'config', 'check')
  /** The problems, one a line. */
  const problems = async (environment: Record<string, string> = {}) => problemsOf(await check(environment))
  const problemsOf = ({ code, stdout }: Awaited<ReturnType<typeof check>>) => {
    const [, found] = stdout.split(/^.* found:\n/m)
    expect(code).to.equal(found === undefined ? 0 : 1)
    return (found ?? '').split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]))
  }

  it('prints what each variable is taken to be, and leaves the folder as it was', async () => {
    const { code, stdout, stderr } = await check({ PORT: '4000', PUBLIC_URL: '' })
    const [end, last, ...lines] = stdout.split('\n').reverse()
    expect({ code, stderr, end, last }).to.deep.equal({ code: 0, stderr: '', end: '', last: 'OK: no problems found' })
    const page = await readFile('server/deploy/configuration.md', 'utf8')
    const [section = ''] = page.split(/^## /m)
    const names = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
    expect(lines.reverse().map((line) => line.split('=')[0])).to.deep.equal(names)
    expect(lines).to.include.members([
      'PORT=4000',
      'HOST=127.0.0.1 (default)',
      `DATA_DIR=${folder}`,
      'PUBLIC_URL= (default)',
      'RATE_LIMIT=on (default)',
    ])
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('prints no secret', async () => {
    const secret = 'correct-horse-battery'
    await writeFile(join(folder, 'secret'), secret)
    for (const given of [{ METRICS_TOKEN: secret }, { METRICS_TOKEN_FILE: join(folder, 'secret') }]) {
      const { stdout } = await check(given)
      expect(stdout).to.include('\nMETRICS_TOKEN=set\n').and.to.not.include(secret)
    }
  })

  it('names the database without its password, and what is wrong with its address', async () => {
    const given = (mode: string) => ({ DATABASE_URL: `postgres://me:pass-word@db.example/grove?password=other${mode}` })
    const { stdout } = await check(given('&sslmode=verify-full'))
    expect(stdout)
      .to.include('\nDATABASE_URL=postgres://me@db.example/grove\n')
      .and.to.not.match(/pass-word|other/)
    expect(await problems(given('&sslmode=verify-full'))).to.deep.equal([])
    expect(await problems(given(''))).to.deep.equal([
      'DATABASE_URL: password hashes travel in the clear; add sslmode=verify-full',
    ])
    expect((await problems(given('&sslmode=require')))[0]).to.match(/accepts any certificate/)
    for (const wrong of ['mysql://localhost/grove', 'localhost', 'postgres://h/d?sslmode=prefer']) {
      const { code, stderr } = await check({ DATABASE_URL: wrong })
      expect([code, stderr.slice(0, 20)]).to.deep.equal([2, 'grove: DATABASE_URL:'])
    }
  })

  it('names what a cell lacks, and an address at which nothing listens', async () => {
    const database = { DATABASE_URL: 'postgres://localhost/grove' }
    const cell = { CELL: 'a', CELL_URL: 'http://10.0.0.1:3000/' }
    expect(await problems({ ...database, ...cell, HOST: '10.0.0.1' })).to.deep.equal([])
    expect(await problems({ ...database, ...cell })).to.deep.equal([
      'CELL_URL: HOST listens only on this machine, so other cells cannot reach it',
    ])
    for (const [given, said] of [
      [cell, 'CELL: needs DATABASE_URL, the database of all cells'],
      [{ ...database, CELL: 'a' }, 'CELL: needs CELL_URL, at which the other cells reach this one'],
      [{ ...database, CELL_URL: cell.CELL_URL }, 'CELL_URL: needs CELL, the name of this cell'],
      [{ ...cell, CELL: 'A b' }, 'CELL: must have 1 to 63 of a-z, 0-9 and -, and must not begin with -'],
      [
        { ...cell, CELL_URL: 'http://a/b' },
        'CELL_URL: must be an http or https URL without a path, a query or a user, such as http://10.0.0.1:3000',
      ],
    ] as const) {
      const { code, stderr } = await check(given)
      expect([code, stderr]).to.deep.equal([2, `grove: ${said}\n`])
    }
  })

  it('is 2 for a value that cannot be used, with the variable, what is allowed and the value', async () => {
    const { code, stdout, stderr } = await check({ WORKERS: 'many', LOG_REQUESTS: 'some', PORT: '70000' })
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr.trim().split(/; |^grove: /)).to.have.members([
      '',
      'LOG_REQUESTS: must be one of off, errors, all, not "some"',
      'PORT: must be a whole number from 0 to 65535, not "70000"',
      'WORKERS: must be a whole number from 1 to 64, not "many"',
    ])
    for (const PORT of ['abc', ' ', '1.5', '-1', '1e3', 'x'.repeat(1_000)]) {
      const said = `grove: PORT: must be a whole number from 0 to 65535, not "${PORT.length > 100 ? `${PORT.slice(0, 100)}…` : PORT}"\n`
      expect((await check({ PORT })).stderr).to.equal(said)
    }
  })

  it('names variables that look misspelt, and no others', async () => {
    const found = await problems({ WORKER: '2', PUBLIC_URI: 'x', metrics_token: 'x', HOSTNAME: 'x', PATHS: 'x' })
    expect(found.sort()).to.deep.equal([
      'PUBLIC_URI is not a variable of Grove; did you mean PUBLIC_URL?',
      'WORKER is not a variable of Grove; did you mean WORKERS?',
      'metrics_token is not a variable of Grove; did you mean METRICS_TOKEN?',
    ])
  })

  it.deep('names a public address that is not safe, and a proxy that is not trusted', async () => {
    expect(await problems({ PUBLIC_URL: 'http://grove.example', HOST: '0.0.0.0' })).to.deep.equal([
      'PUBLIC_URL is not https: passwords and tokens travel in the clear',
    ])
    for (const host of ['localhost', 'grove.localhost', '127.0.0.1', '[::1]'])
      expect(await problems({ PUBLIC_URL: `http://${host}:3000` }), host).to.deep.equal([])
    const proxied = { PUBLIC_URL: 'https://grove.example/a%20b' }
    expect(await problems(proxied)).to.deep.equal([
      'PUBLIC_URL: proxies change paths with empty or escaped parts; use another path',
      'TRUST_PROXY is unset behind a proxy: all clients share its IP address and its rate limits. Set it to loopback',
    ])
    expect(await problems({ PUBLIC_URL: 'https://grove.example/grove', TRUST_PROXY: 'loopback' })).to.deep.equal([])
    expect(await problems({ PUBLIC_URL: 'https://grove.example', HOST: '::' })).to.deep.equal([])
  })

  it.deep('names a git that is too old, or missing', async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'git'), '#!/bin/sh\necho git version 2.30.2\n')
    await chmod(join(bin, 'git'), 0o755)
    // A process asks git for its version only once, so each of these is a new one.
    const problemsIn = async (PATH: string) =>
      problemsOf(await run(process.execPath, ['dist/cli.js', 'config', 'check'], { DATA_DIR: folder, PATH }))
    expect(await problemsIn(`${bin}:${process.env.PATH}`)).to.deep.equal(['git is 2.30.2: Grove needs 2.39 or newer'])
    await rm(join(bin, 'git'))
    expect(await problemsIn(bin)).to.deep.equal(['git cannot be started: Grove needs git 2.39 or newer'])
  })

  it.deep('names a limit of open files that is too low', async () => {
    const { stdout } = await promisify(execFile)(
      'prlimit',
      ['--nofile=900:900', process.execPath, 'dist/cli.js', 'config', 'check'],
      { env: { PATH: process.env.PATH ?? '', DATA_DIR: folder } },
    ).catch((error: { stdout: string }) => error)
    expect(stdout).to.include('1 problem found:\n  ulimit -n is 900: a service under load needs 4096\n')
  })

  it.deep('names a data folder that is none, is on two file systems, or cannot be written', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    expect(await problems({ DATA_DIR: file })).to.deep.equal([`DATA_DIR: ${file} is not a folder; ${nextStep}`])
    await symlink('/proc', join(folder, 'run'))
    expect(await problems()).to.deep.equal(['DATA_DIR and its folder run/ must be on the same file system'])
    const found = await problems({ DATA_DIR: '/proc' })
    expect(found.filter((line) => line.startsWith('DATA_DIR cannot be written and synced: '))).to.have.length(1)
  })

  it('names a data folder that cannot be made or written, and leaves nothing of one that can', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    const data = join(folder, 'data')
    const found = async (DATA_DIR: string) => checkConfig(readConfig({ DATA_DIR }), {})
    const below = `DATA_DIR: ${join(file, 'below')} is not a folder, or is below a file; ${nextStep}`
    expect(problemsOf(await check({ DATA_DIR: join(file, 'below') }))).to.deep.equal([below])
    expect(await found('/proc/grove/data')).to.deep.equal([
      `DATA_DIR: /proc/grove/data cannot be created: a folder above it is missing, or a symbolic link is broken; ${nextStep}`,
    ])
    for (const [code, reason] of [
      ['EACCES', 'cannot be created or read: permission denied'],
      ['EROFS', 'cannot be created: the file system is read-only'],
    ] as const)
      expect(await failing('mkdir', data, code, () => found(data))).to.deep.equal([
        `DATA_DIR: ${data} ${reason}; ${nextStep}`,
      ])
    const [unwritable = '', ...more] = await found('/proc').then((all) => all.filter((one) => one.includes('written')))
    expect(more).to.deep.equal([])
    expect(unwritable).to.match(/^DATA_DIR cannot be written and synced: .*; set DATA_DIR to a folder /)
    expect(await found(join(folder, 'not', 'made', 'yet'))).to.deep.equal([])
    expect(await readdir(folder)).to.deep.equal(['file'])
  })

  it.deep('names a data folder that every user of the machine may read, with the command that closes it', async () => {
    const data = join(folder, 'data')
    await mkdir(data)
    await chmod(data, 0o755)
    expect(await problems({ DATA_DIR: data }), 'nobody else enters the folder above').to.deep.equal([])
    await chmod(folder, 0o711)
    for (const mode of [0o755, 0o701, 0o707]) {
      await chmod(data, mode)
      const [found = '', ...more] = await problems({ DATA_DIR: data })
      expect([found, more]).to.deep.equal([
        `DATA_DIR: every user of this machine can read ${data}, which holds all content: chmod o= ${data}`,
        [],
      ])
      await promisify(execFile)('sh', ['-c', found.replace(/.*: /, '')])
      expect(await problems({ DATA_DIR: data })).to.deep.equal([])
    }
  })

  it.deep('is said by a start of a folder that is there, and a start makes a new one for its own user', async () => {
    await chmod(folder, 0o755)
    const there = await spawnGrove(folder)
    await until(() => there.output().stderr.includes('every user of this machine can read'))
    await there.stop()
    expect((await stat(folder)).mode & 0o777, 'is left as it was').to.equal(0o755)
    const made = join(folder, 'made', 'data')
    const openly = ['sh', '-c', 'umask 0; exec "$@"', 'sh']
    const fresh = await spawnGrove(made, {}, openly)
    await signUp({ url: fresh.url }, 'Ann')
    expect(await fresh.stop()).to.equal(0)
    const modeOf = async (name: string) => ((await stat(join(made, name))).mode & 0o777).toString(8)
    expect(await modeOf('')).to.equal('700')
    for (const name of ['index.sqlite', 'credentials.sqlite']) expect(await modeOf(name), name).to.equal('600')
    expect(fresh.output().stderr).to.not.include('every user')
  })

  it('names a data folder that cannot be looked at', async () => {
    const config = readConfig({ DATA_DIR: folder })
    const check = () => checkConfig(config, {})
    expect(await failing('stat', folder, 'EIO', check)).to.deep.equal([
      `DATA_DIR: ${folder} cannot be created: the file system failed; ${nextStep}`,
    ])
    for (const path of [join(folder, 'run'), join(folder, 'credentials.sqlite')]) {
      const found = await failing('stat', path, 'EIO', check)
      expect(
        found.filter((line) => line.startsWith('DATA_DIR cannot be checked: EIO')),
        path,
      ).to.have.length(1)
    }
    expect((await check()).filter((line) => line.includes('looked at'))).to.deep.equal([])
  })

  it('names a clock that is behind', async () => {
    const file = join(folder, 'credentials.sqlite')
    await writeFile(file, '')
    const later = Date.now() / 1000 + 7_200
    await utimes(file, later, later)
    const [found = '', ...others] = await problems()
    expect(others).to.deep.equal([])
    expect(found).to.match(/^The clock is 7\d{3} s behind the last change of credentials\.sqlite$/)
  })
})

describe('a start', () => {
  it.deep('logs what config check finds, and serves all the same', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grove-config-'))
    const grove: SpawnedGrove = await spawnGrove(folder, { WORKER: '2' })
    const sentence = 'configuration: WORKER is not a variable of Grove; did you mean WORKERS?'
    await until(() => grove.output().stderr.includes(sentence))
    const [line = '', ...others] = grove.output().stderr.trim().split('\n')
    expect([JSON.parse(line).level, others]).to.deep.equal([40, []])
    await grove.stop()
    await rm(folder, { recursive: true, force: true })
  })
})
