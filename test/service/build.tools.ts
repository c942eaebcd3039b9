/** `npm run build`: what is in dist/ is of the sources, and is made only where it is not. */
import { execFile } from 'node:child_process'
import { appendFile, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { builtClone, environment } from '../readme/clone.ts'

const run = promisify(execFile)

describe('npm run build', () => {
  let clone: string
  before(async () => {
    clone = await builtClone()
  })
  after(() => rm(clone, { recursive: true, force: true }))

  const build = () => run(process.execPath, ['server/build/build.js'], { cwd: clone, env: environment() })
  /** Each file that is made is a new one. */
  const made = async (path: string) => (await stat(join(clone, path))).ino
  const version = () => run(process.execPath, ['dist/cli.js', '--version'], { cwd: clone, env: environment() })

  it('makes nothing if the sources are those of the last build', async () => {
    const before = await made('dist/cli.cjs')
    expect(await build()).to.include({ stdout: '', stderr: '' })
    expect(await made('dist/cli.cjs')).to.equal(before)
  })

  it('makes all if a source has changed', async () => {
    await appendFile(join(clone, 'server/cli/cli.ts'), "\nprocess.stderr.write('changed')\n")
    const { stdout, stderr } = await build()
    expect([stdout, stderr]).to.deep.equal(['', 'Building the pages and the service (only after an update) …\n'])
    expect((await version()).stderr).to.equal('changed')
    const before = await made('dist/cli.cjs')
    await build()
    expect(await made('dist/cli.cjs')).to.equal(before)
  })

  it('tells commits apart, and builds nothing for another commit', async () => {
    const git = (...args: string[]) => run('git', args, { cwd: clone, env: environment() })
    await git('init', '-q')
    await build()
    const before = await made('dist/cli.cjs')
    await git('-c', 'user.name=A', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'Nothing')
    await build()
    const { stdout: head } = await git('rev-parse', '--short=12', 'HEAD')
    expect((await version()).stdout).to.match(new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(${head.trim()}\\)\n$`))
    expect(await made('dist/cli.cjs')).to.equal(before)
    const named = { ...environment(), GROVE_COMMIT: '0123456789ab' }
    await run(process.execPath, ['server/build/build.js'], { cwd: clone, env: named })
    expect((await version()).stdout).to.include(' (0123456789ab)\n')
  })

  it('makes all if a file of the last build is not whole', async () => {
    const before = await made('dist/cli.cjs')
    await truncate(join(clone, 'dist/client/client.js'), 0)
    await build()
    expect(await made('dist/cli.cjs')).to.not.equal(before)
    expect((await stat(join(clone, 'dist/client/client.js'))).size).to.be.greaterThan(1_000)
  })
})
