/** Files of segments: what one index writes another reads, and whatever is missing or damaged changes no answer. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeSegments, encodeSegments, type Origin } from '../../index/search/segments/segment-file.ts'
import { ANALYZER_VERSION } from '../../index/search/text/analyzer.ts'
import { readSegments, removeUnusedSegments, writeSegments } from '../../server/domain/search/segment-files.ts'
import { failing } from '../support/failing.ts'
import { randomOf } from '../support/random.ts'
import { until } from '../support/until.ts'
import { openOver } from './over-files.ts'
import { createSearchIndexIn, removeNode, type SearchIndex } from './rows-in-memory.ts'
import { answersAnew, questionsOf, setNotes } from './stored-notes.ts'

const written = ['0-4000.seg', '4000-5000.seg']
const documents = 5_300
const changed = 150
const questions = questionsOf(randomOf(2), 15)
const wanted: Pick<Origin, 'analyzer' | 'epoch'> = { analyzer: ANALYZER_VERSION, epoch: 'epoch' }

const obstacles: Record<string, (folder: string) => Promise<unknown>> = {
  'is a plain file': (folder) => writeFile(folder, ''),
  'holds a folder by the name of a file': (folder) => mkdir(join(folder, 'org', '0-1000.seg'), { recursive: true }),
  'has a plain file for the organisation': async (folder) => {
    await mkdir(folder)
    await writeFile(join(folder, 'org'), '')
  },
}

describe('files of segments', () => {
  let base: string
  let file: string
  let seed: string
  let rows: SearchIndex
  let answers: string[]

  // Files of 5,000 documents; then documents change and are deleted, some of each file and some of none.
  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'grove-segments-'))
    file = join(base, 'index.sqlite')
    seed = join(base, 'seed')
    rows = createSearchIndexIn(file)
    const maker = openOver(file, seed)
    // Of five segments at once merges would make one.
    const random = randomOf(1)
    setNotes(rows, random, range(0, 4_000))
    await maker.ask(questions)
    await settled(join(seed, 'org'), written.slice(0, 1))
    setNotes(rows, random, range(4_000, documents))
    expect(await maker.ask(questions)).to.deep.equal(answersAnew(rows, questions))
    await settled(join(seed, 'org'), written)
    expect(maker.reports).to.deep.equal([])
    setNotes(rows, randomOf(3), [...range(3_000, 3_050), ...range(4_500, 4_550), ...range(5_250, 5_300)])
    for (const n of [1, 100, 3_001, 4_501, 4_900, 5_299]) removeNode(rows, `n${n}`)
    answers = answersAnew(rows, questions)
  })
  after(async () => {
    rows.db.close()
    await rm(base, { recursive: true, force: true })
  })

  it('are sealed, merged, written, and read by the next index, which reads only later rows', async () => {
    const folder = await copy('whole')
    const next = openOver(file, folder)
    expect(await next.ask(questions)).to.deep.equal(answers)
    expect(next.indexed(), 'rows').to.equal(documents - 5_000 + changed - 50 - 3)
    expect(next.reports).to.deep.equal([])
    expect(await readdir(join(folder, 'org'))).to.have.members(written)
  })

  const damages: Record<string, (path: string) => Promise<void>> = {
    deleted: (path) => rm(path),
    cut: async (path) => truncate(path, Math.floor((await stat(path)).size * 0.7)),
    emptied: (path) => truncate(path, 0),
    'of which one bit is flipped': async (path) => {
      const content = await readFile(path)
      const at = Math.floor(content.length / 3)
      content[at] = (content[at] ?? 0) ^ 4
      await writeFile(path, content)
    },
    'of another epoch': (path) => changeOrigin(path, { epoch: 'other' }),
    'of the analyzer before': (path) => changeOrigin(path, { analyzer: versionBefore(ANALYZER_VERSION) }),
    'that says another range': (path) => changeOrigin(path, { to: 3_999 }),
  }
  // Without the first file everything is read again, which takes a second.
  for (const [title, damage] of Object.entries(damages))
    for (const name of title === 'deleted' || title === 'of another epoch' ? written : written.slice(1))
      it(`answer the same with one ${title}, ${name}, which is removed and written again`, async () => {
        const folder = await copy(`${title} ${name}`)
        const path = join(folder, 'org', name)
        await damage(path)
        const inode = await inodeOf(path)
        const next = openOver(file, folder)
        expect(await next.ask(questions)).to.deep.equal(answers)
        expect(next.indexed(), 'rows').to.be.above(name === written[0] ? 5_000 : 1_200)
        expect(next.reports).to.deep.equal([])
        if (inode !== undefined) expect(await inodeOf(path)).to.not.equal(inode)
        // Merges go on after the answer.
        await until(() => isUseful(join(folder, 'org')))
        const third = openOver(file, folder)
        expect(await third.ask(questions)).to.deep.equal(answers)
        expect(third.indexed(), 'rows after the files are there again').to.be.below(1_200)
      })

  it.deep(
    'of two writers that sealed at other versions answer the same, and those that no longer fit are removed',
    async () => {
      const folder = join(base, 'overlapping')
      const own = join(base, 'overlapping.sqlite')
      const notes = createSearchIndexIn(own)
      const random = randomOf(4)
      const [often, seldom] = [openOver(own, folder), openOver(own, folder)]
      await often.ask(questions.slice(0, 1))
      await seldom.ask(questions.slice(0, 1))
      const names = new Set<string>()
      for (let round = 0; round < 16; round++) {
        const others = range(0, 60).map(() => random.below(round * 120 + 1))
        setNotes(notes, random, [...range(round * 120, round * 120 + 120), ...others])
        await often.ask(questions.slice(0, 1))
        if (round % 8 === 7) await seldom.ask(questions.slice(0, 1))
        for (const name of await readdir(join(folder, 'org')).catch(() => [])) names.add(name)
      }
      const ends = [...names].filter((name) => name.startsWith('0-')).length
      expect(ends, [...names].join(' ')).to.be.above(1)
      const made = answersAnew(notes, questions)
      for (const one of [often, seldom, openOver(own, folder)]) expect(await one.ask(questions)).to.deep.equal(made)
      // A merge may end after the last one that reads the folder, and removes what no longer fits.
      await until(async () => {
        await openOver(own, folder).ask(questions.slice(0, 1))
        const left = await readdir(join(folder, 'org'))
        return !left.some((name) => left.some((other) => other !== name && overlaps(name, other)))
      })
      notes.db.close()
    },
  )

  it('replace a file of the same name that is of another epoch, that lacks passages, and one that is damaged', async () => {
    const folder = join(base, 'replaced')
    const content = await readFile(join(seed, 'org', '4000-5000.seg'))
    const [texts, passages] = decodeSegments(content)?.segments ?? []
    if (!texts || !passages) throw new Error('A file holds no two segments')
    const segments = { texts, passages }
    const path = join(folder, '4000-5000.seg')
    const origin = { ...wanted, from: 4_000, to: 5_000 }
    for (const before of [
      Buffer.concat(encodeSegments([texts, passages], { ...origin, epoch: 'other' })),
      Buffer.concat(encodeSegments([texts], origin)),
      content.subarray(9),
    ]) {
      await mkdir(folder, { recursive: true })
      await writeFile(path, before)
      await writeSegments(folder, segments, origin)
      const { origin: written, segments: both } = decodeSegments(await readFile(path)) ?? {}
      expect([written, both?.length]).to.deep.equal([origin, 2])
    }
    const inode = await inodeOf(path)
    await writeSegments(folder, segments, origin)
    expect(await inodeOf(path), 'a file that is as it should be').to.equal(inode)
  })

  it('change no answer where the folder cannot be written, and that is reported', async () => {
    const own = join(base, 'obstacles.sqlite')
    const notes = createSearchIndexIn(own)
    setNotes(notes, randomOf(5), range(0, 1_100))
    const made = answersAnew(notes, questions)
    for (const [title, obstruct] of Object.entries(obstacles)) {
      const folder = join(base, title)
      await obstruct(folder)
      const next = openOver(own, folder)
      expect(await next.ask(questions), title).to.deep.equal(made)
      expect(next.reports, title).to.not.deep.equal([])
    }
    notes.db.close()
  })

  describe('that are unused', () => {
    const day = 24 * 60 * 60
    it('are removed: folders of no organisation, those unused for 30 days, files unfinished for an hour; nothing else', async () => {
      const root = join(base, 'unused')
      for (const org of ['kept', 'old', 'gone', 'nearly']) {
        await mkdir(join(root, org), { recursive: true })
        for (const name of ['0-10.seg', 'tmp-old', 'tmp-new', '.tmp-0-10.seg-old', '.tmp-0-10.seg-new'])
          await writeFile(join(root, org, name), 'x')
        for (const name of ['0-10.seg', 'tmp-old', '.tmp-0-10.seg-old']) await age(join(root, org, name), 3_700)
        for (const name of ['tmp-new', '.tmp-0-10.seg-new']) await age(join(root, org, name), 3_500)
      }
      await age(join(root, 'old'), 30 * day + 60)
      await age(join(root, 'nearly'), 30 * day - 60)
      await removeUnusedSegments(root, async (id) => id !== 'gone')
      expect(await readdir(root)).to.have.members(['kept', 'nearly'])
      for (const org of ['kept', 'nearly'])
        expect(await readdir(join(root, org)), org).to.have.members(['0-10.seg', 'tmp-new', '.tmp-0-10.seg-new'])
    })

    it('stay while an index reads them', async () => {
      const folder = await copy('read')
      await age(join(folder, 'org'), 40 * day)
      await openOver(file, folder).ask(questions.slice(0, 1))
      await removeUnusedSegments(folder, async () => true)
      expect(await readdir(join(folder, 'org'))).to.have.members(written)
    })

    it('may lie in no folder at all', () => removeUnusedSegments(join(base, 'none'), async () => true))

    it('are told where they cannot be listed', async () => {
      const root = join(base, 'unlisted')
      const folder = join(root, 'org')
      await mkdir(folder, { recursive: true })
      const looks: Record<string, () => Promise<unknown>> = {
        'to be removed': () => removeUnusedSegments(root, async () => true),
        'to be read': () => readSegments(folder, { analyzer: ANALYZER_VERSION, epoch: 'one' }, 1),
      }
      for (const [why, look] of Object.entries(looks)) {
        const fault = await failing('readdir', folder, 'EIO', () => look().catch((error: unknown) => error))
        expect(fault, why).to.include({ code: 'storage_error' })
      }
    })
  })

  async function copy(name: string): Promise<string> {
    const folder = join(base, `copy ${name}`)
    await cp(seed, folder, { recursive: true })
    return folder
  }
})

/** @param version as ANALYZER_VERSION is written */
function versionBefore(version: string): string {
  return version.replace(/^\d+/, (number) => String(Number(number) - 1))
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

/** Once the names are these, or else once merges have left as few as they do. */
async function settled(folder: string, names?: readonly string[]): Promise<void> {
  await until(async () => {
    const found = (await readdir(folder)).sort()
    return names === undefined
      ? found.length <= 3 && !found.some((name) => name.startsWith('.'))
      : `${found}` === `${names}`
  })
}

/** Whether each file is whole, of this index, and named by its range. */
async function isUseful(folder: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const content = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
    const { analyzer, epoch, from, to } = decodeSegments(content)?.origin ?? {}
    if (analyzer !== wanted.analyzer || epoch !== wanted.epoch || name !== `${from}-${to}.seg`) return false
  }
  return true
}

async function changeOrigin(path: string, more: Partial<Origin>): Promise<void> {
  const found = decodeSegments(await readFile(path))
  if (!found) throw new Error(`${path} is not whole`)
  await writeFile(path, Buffer.concat(encodeSegments(found.segments, { ...found.origin, ...more })))
}

function overlaps(name: string, other: string): boolean {
  const [from = 0, to = 0] = name.split(/[-.]/).map(Number)
  const [otherFrom = 0, otherTo = 0] = other.split(/[-.]/).map(Number)
  return otherFrom < to && from < otherTo
}

async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  )
}

async function age(path: string, seconds: number): Promise<void> {
  const then = Date.now() / 1_000 - seconds
  await utimes(path, then, then)
}
