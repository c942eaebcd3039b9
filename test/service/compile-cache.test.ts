/** The file that starts each bundle of dist/, with a small bundle of its own. Node before 22 has no compile cache. */
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)

describe('a bundle that a shell starts', () => {
  const hasCache = 'enableCompileCache' in module
  let folder: string
  let cache: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-compile-cache-'))
    cache = join(folder, 'compile-cache')
    await mkdir(join(folder, 'tmp'))
    await cp('server/build/start-bundle.cjs', join(folder, 'program.js'))
    await bundle('1')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const bundle = (answer: string) =>
    writeFile(join(folder, 'program.cjs'), `const answer = () => ${answer}\nprocess.stdout.write(String(answer()))\n`)
  const start = async (...flags: string[]) => {
    const env = { ...process.env, TMPDIR: join(folder, 'tmp') }
    const { stdout, stderr } = await run(process.execPath, [...flags, join(folder, 'program.js')], { env })
    expect(stderr).to.equal('')
    return stdout
  }
  const filesIn = async (path: string) => {
    const entries = await readdir(path, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  }
  const cached = () => filesIn(folder).then((files) => files.filter((file) => file.startsWith(cache)))

  it('leaves what V8 compiled of it for the next start, if Node can, in a folder of its user alone', async () => {
    expect(await start()).to.equal('1')
    const files = await cached()
    expect(files).to.have.length(hasCache ? 1 : 0)
    const numbers = () => Promise.all(files.map(async (file) => (await stat(file)).ino))
    const before = await numbers()
    expect(await start()).to.equal('1')
    expect(await cached()).to.deep.equal(files)
    expect(await numbers()).to.deep.equal(before)
    if (hasCache) expect((await stat(cache)).mode & 0o777).to.equal(0o700)
    expect(await readdir(join(folder, 'tmp'))).to.deep.equal([])
  })

  it('is compiled again after a change, of the same length too', async () => {
    await start()
    await bundle('2')
    expect(await start()).to.equal('2')
  })

  for (const [whose, prepare, flags] of [
    ['others may write', () => mkdir(cache).then(() => chmod(cache, 0o722)), []],
    ['belongs to another user', () => mkdir(cache), ['--import', 'data:text/javascript,process.getuid=()=>7']],
    ['lies elsewhere', () => mkdir(join(folder, 'elsewhere')).then(() => symlink('elsewhere', cache)), []],
    ['is no folder', () => writeFile(cache, ''), []],
  ] as const) {
    it(`runs without a cache whose folder ${whose}, and takes none of the temporary files`, async () => {
      await prepare()
      const before = (await filesIn(folder)).sort()
      for (let n = 0; n < 2; n++) expect(await start(...flags)).to.equal('1')
      expect((await filesIn(folder)).sort()).to.deep.equal(before)
    })
  }

  it('does not hide that it is empty, which would do nothing, and that well', async () => {
    await writeFile(join(folder, 'program.cjs'), '')
    const { code, stderr } = await start().catch((error) => error)
    expect(code).to.equal(1)
    expect(stderr).to.contain('program.cjs is empty; reinstall or rebuild Grove')
  })
})
