/** The page for operators: its commands, as they stand there, in an installation from the tarball. Installs from npm's registry. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { environment, freshClone } from '../readme/clone.ts'
import { client } from '../support/people.ts'
import { endAfterFile } from '../support/processes.ts'
import { freePort } from './scene.ts'

const run = promisify(execFile)

const commit = '0123456789ab'

describe('the page for operators', () => {
  let folder: string
  let checkout: string
  let sections: Map<string, string[]>
  let port: number
  let globalConfig: string
  let service: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-operators-'))
    checkout = await freshClone()
    port = await freePort()
    globalConfig = (await run('npm', ['config', 'get', 'globalconfig'])).stdout.trim()
    sections = sectionsOf(await readFile('server/deploy/README.md', 'utf8'))
    await mkdir(join(folder, 'prefix'))
  })
  after(async () => {
    service?.kill('SIGTERM')
    await ended
    for (const each of [folder, checkout]) await rm(each, { recursive: true, force: true })
  })

  /** The output of a section's blocks. They have their own data folder, port and place for packages. */
  const blocksOf = async (title: string, variables: Record<string, string> = {}): Promise<string[]> => {
    const said: string[] = []
    for (const block of sections.get(title) ?? []) {
      const script = block
        .replaceAll('/var/lib/grove', join(folder, 'data'))
        .replaceAll('/var/backups/grove', join(folder, 'backup'))
        .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
        cwd: checkout,
        // On Node 20 SQLite is compiled, which takes two minutes of CPU; the checkout has done so.
        env: installed({ ...variables, ...(/^npm install/.test(block) ? { npm_config_ignore_scripts: 'true' } : {}) }),
        maxBuffer: 1e8,
      })
      said.push(stdout)
    }
    return said
  }
  const installed = (variables: Record<string, string> = {}): Record<string, string> => ({
    ...environment(),
    // The clone has no Git folder, and is built as the image is.
    GROVE_COMMIT: commit,
    PATH: `${join(folder, 'prefix/bin')}:${environment().PATH}`,
    npm_config_prefix: join(folder, 'prefix'),
    // Otherwise below the prefix.
    npm_config_globalconfig: globalConfig,
    ...variables,
  })

  it('installs the tarball, whose check finds nothing wrong', async () => {
    const [packed, installation, checked] = await blocksOf('Install')
    const compiled = 'node_modules/better-sqlite3-node20/build'
    if (existsSync(compiled))
      await cp(compiled, join(folder, 'prefix/lib/node_modules/grove', compiled), { recursive: true })
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    const said = `${version} (${commit})`
    expect([packed, installation?.split('\n').slice(-2)]).to.deep.equal([`grove-${version}.tgz\n`, [said, '']])
    expect(checked).to.match(/\nMETRICS_TOKEN=set\n[\s\S]*\nOK: no problems found\n$/)
  })

  it('has the versions of package-lock.json, and the files that the page names', async () => {
    const home = join(folder, 'prefix/lib/node_modules/grove')
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
    const sqlite = existsSync('node_modules/better-sqlite3') ? 'better-sqlite3' : 'better-sqlite3-node20'
    for (const name of ['argon2', sqlite, 'swagger-ui-dist']) {
      const { version } = JSON.parse(await readFile(join(home, 'node_modules', name, 'package.json'), 'utf8'))
      expect(version, name).to.equal(packages[`node_modules/${name}`].version)
    }
    for (const name of ['typescript', 'mocha', 'express', 'esbuild'])
      expect(existsSync(join(home, 'node_modules', name)), name).to.equal(false)
    const page = await readFile(join(home, 'server/deploy/README.md'), 'utf8')
    for (const [, file = ''] of page.matchAll(/\]\(([\w.]+)\)/g))
      expect(existsSync(join(home, 'server/deploy', file)), file).to.equal(true)
  })

  it('serves, has an administrator, an invited person and metrics, is backed up, and is sound', async () => {
    const token = 'metrics-of-operators'
    const variables = {
      DATA_DIR: join(folder, 'data'),
      PORT: String(port),
      METRICS_TOKEN: token,
      LOG_LEVEL: 'warn',
      SIGNUP: 'invite',
    }
    service = endAfterFile(
      spawn(join(folder, 'prefix/bin/grove'), ['serve'], { cwd: folder, env: installed(variables), stdio: 'pipe' }),
    )
    ended = new Promise((exited) => service?.once('exit', exited))
    await new Promise((listens, failed) => {
      service?.stdout?.once('data', listens)
      service?.once('exit', () => failed(new Error('the service ended before it listened')))
    })
    const [added = ''] = await blocksOf('Create the first administrator', variables)
    expect(added)
      .to.match(/grv_reset_/)
      .and.to.contain('"is_admin":true')
    const uninvited = { email: 'eve@example.org', password: 'correct horse battery' }
    const refused = await client({ url: `http://127.0.0.1:${port}` }).post('/auth/signup', uninvited)
    expect(refused.body.code).to.equal('signup_closed')
    const [invited = ''] = await blocksOf('Control sign-ups', variables)
    expect(invited)
      .to.match(/^grv_invite_/)
      .and.to.contain('"email":"bob@example.org"')
    const [said] = await blocksOf('Back up', variables)
    expect(said).to.match(/\nOK: no problems found\n$/)
    const [copied] = await blocksOf('Maintenance mode', variables)
    expect(copied).to.equal('Maintenance mode is on, and the data folder is quiet\nMaintenance mode is off\n')
    expect(existsSync(join(folder, 'backup-copy/credentials.sqlite'))).to.equal(true)
    const [scraped] = await blocksOf('Monitor', { METRICS_TOKEN: token })
    expect(scraped).to.match(
      /^grove_build_info\{version="[\d.]+",commit="0123456789ab",node="v\d+.*",git="[\d.]+",worker="1"\} 1\n$/,
    )
  })

  it('has no other commands', () => {
    const titles = [...sections].filter(([, blocks]) => blocks.length > 0).map(([title]) => title)
    expect(titles).to.deep.equal([
      'Install',
      'Create the first administrator',
      'Control sign-ups',
      'Back up',
      'Monitor',
      'Maintenance mode',
    ])
  })
})

/** The blocks of sh by the heading above them. */
function sectionsOf(page: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  for (const section of page.split(/^## /m).slice(1)) {
    const title = section.slice(0, section.indexOf('\n'))
    sections.set(
      title,
      [...section.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
        block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      ),
    )
  }
  return sections
}
