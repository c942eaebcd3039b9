/** The file that stands in dist/ under the name of each bundle, with small bundles of its own. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { build } from 'esbuild'

const run = promisify(execFile)

describe('the code cache of a bundle', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-code-cache-'))
    await cp('server/build/bundle-loader.cjs', join(folder, 'program.js'))
    await bundle('1')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const bundle = (answer: string) =>
    writeFile(join(folder, 'program.cjs'), `const answer = () => ${answer}\nprocess.stdout.write(String(answer()))\n`)
  const start = async (...flags: string[]) => {
    const { stdout, stderr } = await run(process.execPath, [...flags, join(folder, 'program.js')])
    expect(stderr).to.equal('')
    return stdout
  }
  const caches = async () => (await readdir(join(folder, 'code-cache'))).map((name) => join(folder, 'code-cache', name))
  const theCache = async () => {
    const [file = '', ...others] = await caches()
    expect(others).to.deep.equal([])
    return file
  }

  it('is made by the first start, and used by the next', async () => {
    expect(await start()).to.equal('1')
    const { ino } = await stat(await theCache())
    expect(await start()).to.equal('1')
    expect((await stat(await theCache())).ino).to.equal(ino)
  })

  it('is made once for each set of V8 flags', async () => {
    await start()
    // The size of the heap is a flag that changes the code in some versions of V8 alone.
    expect(await start('--stack-size=500')).to.equal('1')
    expect(await caches()).to.have.length(2)
  })

  it('is made again for another bundle, of the same length too', async () => {
    await start()
    const before = await readFile(await theCache())
    await bundle('2')
    expect(await start()).to.equal('2')
    expect(await readFile(await theCache())).to.not.deep.equal(before)
  })

  for (const [damage, damaged] of [
    ['emptied', () => Buffer.alloc(0)],
    ['cut off', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
    [
      'changed in one bit',
      (whole: Buffer) => Buffer.from(whole.map((byte, at) => (at === whole.length - 20 ? byte ^ 1 : byte))),
    ],
  ] as const) {
    it(`is made again where it is ${damage}`, async () => {
      await start()
      const whole = await readFile(await theCache())
      await writeFile(await theCache(), damaged(whole))
      expect(await start()).to.equal('1')
      expect((await readFile(await theCache())).length).to.equal(whole.length)
    })
  }

  it('does not hide that the bundle is empty, which would do nothing, and that well', async () => {
    await writeFile(join(folder, 'program.cjs'), '')
    const { code, stderr } = await start().catch((error) => error)
    expect(code).to.equal(1)
    expect(stderr).to.contain('program.cjs is empty; install or build Grove again')
  })

  it('may be impossible to write', async () => {
    await writeFile(join(folder, 'code-cache'), 'no folder')
    expect(await start()).to.equal('1')
    expect((await readdir(folder)).sort()).to.deep.equal(['code-cache', 'program.cjs', 'program.js'])
  })

  it('leaves nothing beside it where its place is taken', async () => {
    await start()
    const file = await theCache()
    await rm(file)
    await mkdir(file)
    expect(await start()).to.equal('1')
    expect(await caches()).to.deep.equal([file])
  })

  it('leaves source maps to node, which names the lines of the sources', async () => {
    const source = join(folder, 'source.ts')
    await writeFile(source, 'type Answer = string\n\nthrow new Error("of line 3")\n')
    const outfile = join(folder, 'program.cjs')
    await build({ entryPoints: [source], outfile, format: 'cjs', sourcemap: 'linked', logLevel: 'error' })
    const stackOf = (...flags: string[]) =>
      start(...flags).then(
        () => undefined,
        ({ stderr }) => stderr,
      )
    expect(await stackOf('--enable-source-maps')).to.match(/at .*source\.ts:3:7/)
    expect(await stackOf()).to.match(/at .*program\.cjs:\d+:7/)
  })
})
