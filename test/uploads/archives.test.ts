/** Archives that are refused, each with its reason, and what they leave: nothing. */

import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { imported, sendZip, zipOf } from '../support/uploads.ts'
import { type HandMade, handMade } from './hand-made.ts'
import { ann, contentIn, grove, newOrg, useScene } from './scene.ts'

const mebibyte = 1_048_576

/** The reason by what the archive has. */
const refused: Readonly<Record<string, readonly [archive: () => Buffer | Promise<Buffer>, reason: string | RegExp]>> = {
  'an absolute path': [() => handMade([{ name: '/etc/passwd' }]), /^The path "\/etc\/passwd" is absolute/],
  'a drive of Windows': [() => handMade([{ name: 'C:\\notes\\a.md' }]), /^The path "C:\/notes\/a.md" is absolute/],
  'a path above the archive': [() => handMade([{ name: 'a/../../b.md' }]), /leads out of the archive/],
  'a path above it, as Windows writes one': [() => handMade([{ name: 'a\\..\\b.md' }]), /leads out of the archive/],
  'an empty name': [() => handMade([{ name: 'a//b.md' }]), /has an empty name in it/],
  'a NUL in a name': [() => handMade([{ name: 'a\0.md' }]), /has control characters/],
  'a name that is not the UTF-8 that it states': [
    () => handMade([{ name: Buffer.from([0xff, 0x2e, 0x6d, 0x64]) }]),
    'A name in the archive is not UTF-8; rename the file',
  ],
  'a long name': [() => handMade([{ name: `${'x'.repeat(253)}.md` }]), /a name that is longer than 255 bytes/],
  'a long path': [() => handMade([{ name: `${'folder/'.repeat(150)}a.md` }]), /more than 64 folders|longer than 1000/],
  'many folders': [() => handMade([{ name: `${'f/'.repeat(64)}a.md` }]), /has more than 64 folders/],
  'a symbolic link': [
    () => handMade([{ name: 'a.md', mode: 0o120777, content: '/etc/passwd' }]),
    '"a.md" is a symbolic link; replace it with the file',
  ],
  'a device': [() => handMade([{ name: 'a.md', mode: 0o020666 }]), '"a.md" is not a regular file'],
  'a name twice': [() => handMade([{ name: 'a.md' }, { name: 'a.md' }]), '"a.md" is in the archive twice'],
  'names that differ in case': [
    () => handMade([{ name: 'Sea.md' }, { name: 'sea.md' }]),
    /^"Sea.md" and "sea.md" differ only in case/,
  ],
  'folders that differ in case': [
    () => handMade([{ name: 'x/Sea/a.md' }, { name: 'x/sea/b.md' }]),
    /^"Sea" and "sea" differ only in case/,
  ],
  'names that differ in how letters are encoded': [
    () => handMade([{ name: 'é.md' }, { name: 'e\u0301.md' }]),
    /differ only in case, or in how letters are encoded/,
  ],
  'a file that is also a folder': [
    () => handMade([{ name: 'a' }, { name: 'a/b.md' }]),
    '"a" is both a file and a folder',
  ],
  'a folder that is also a file': [
    () => handMade([{ name: 'x/a/b.md' }, { name: 'x/a' }]),
    '"a" is both a file and a folder',
  ],
  'an encrypted file': [() => handMade([{ name: 'a.md', flags: 0x801 }]), /^"a.md" is encrypted/],
  'another compression': [() => handMade([{ name: 'a.md', method: 14 }]), /^"a.md" is compressed with method 14/],
  'more than 512 MiB': [
    () => handMade(many(52, (at) => ({ name: `${at}.md`, stated: 10 * mebibyte }))),
    'The files of the archive have more than 512 MiB; import it in parts',
  ],
  'too many files': [
    () => handMade(many(20_001, (at) => ({ name: `${at}.md`, content: '' }))),
    'The archive has 20001 files to import; at most 20000 are imported',
  ],
  'nothing but hidden files': [
    () => handMade([{ name: 'x/.git/config' }, { name: 'x/node_modules/a/README.md' }]),
    'The archive has no files to import; hidden files are skipped',
  ],
  'no bytes': [() => Buffer.alloc(0), 'It is not a ZIP file, or it is incomplete'],
  'something else': [() => Buffer.from('# Not a ZIP\n'), 'It is not a ZIP file, or it is incomplete'],
  'an end that is missing': [async () => (await zipOf({ 'a.md': 'a' })).subarray(0, -30), /not a ZIP file/],
  'fewer entries than it states': [() => handMade([{ name: 'a.md' }], 7), /^The ZIP file cannot be read: /],
}

/** Reasons that show only while the archive is unpacked. The import fails, and has written nothing. */
const failed: Readonly<Record<string, readonly [entries: readonly HandMade[], reason: RegExp]>> = {
  'a wrong checksum': [[{ name: 'a.md' }, { name: 'b.md', crc: 7 }], /^"b.md" is damaged in the archive: its checksum/],
  'more bytes than stated': [
    [{ name: 'bomb.md', content: Buffer.alloc(200 * mebibyte), stated: 1_000 }],
    /^"bomb.md" is damaged in the archive: too many bytes/,
  ],
  'fewer bytes than stated': [[{ name: 'a.md', content: 'a', stated: 9 }], /not enough bytes/],
}

describe('uploads: an archive', () => {
  useScene()

  for (const [what, [archive, reason]] of Object.entries(refused))
    it.deep(`with ${what} is refused, and leaves nothing`, async () => {
      const org = await newOrg()
      const { status, body } = await sendZip(ann, org, await archive())
      expect(status).to.equal(422)
      const [{ loc, msg, type }, ...others] = body.detail
      expect({ loc, type, others }).to.deep.equal({ loc: ['body'], type: 'value_error', others: [] })
      if (typeof reason === 'string') expect(msg).to.equal(reason)
      else expect(msg).to.match(reason)
      expect((await ann.get(`/orgs/${org}/imports`)).body.imports).to.deep.equal([])
      expect(await readdir(join(grove.dataDir, 'uploads', org))).to.deep.equal([])
    })

  for (const [what, [entries, reason]] of Object.entries(failed))
    it.deep(`with ${what} fails before anything is written`, async () => {
      const org = await newOrg()
      const { state, detail, report } = await imported(ann, org, handMade(entries))
      expect({ state, report }).to.deep.equal({ state: 'failed', report: undefined })
      expect(detail).to.match(reason)
      expect(await contentIn(ann, org)).to.deep.equal({})
    })

  it.deep('over 256 MiB is refused while it is sent', async () => {
    const org = await newOrg()
    const { status, body } = await sendZip(ann, org, Buffer.alloc(256 * mebibyte + 1))
    expect({ status, body }).to.deep.equal({
      status: 413,
      body: { detail: 'The archive is over 256 MiB; import it in parts', code: 'too_large' },
    })
    expect(await readdir(join(grove.dataDir, 'uploads', org))).to.deep.equal([])
  })

  it('of another media type is refused, and so is one that is packed again', async () => {
    const org = await newOrg()
    const sent = [
      { 'content-type': 'application/json' },
      { 'content-type': 'application/zip', 'content-encoding': 'gzip' },
    ]
    for (const headers of sent) {
      const { status, body } = await ann.post(`/orgs/${org}/imports`, await zipOf({ 'a.md': 'a' }), headers)
      expect({ status, code: body.code }).to.deep.equal({ status: 415, code: 'unsupported_media_type' })
    }
    expect(existsSync(join(grove.dataDir, 'uploads', org))).to.equal(false)
  })

  it.deep('may have names without the flag for UTF-8, as macOS writes them, and its folder of attributes', async () => {
    const org = await newOrg()
    const zip = handMade([
      { name: 'Notizen/', content: '', method: 0, flags: 0 },
      { name: 'Notizen/Übung.md', flags: 0 },
      { name: '__MACOSX/Notizen/._Übung.md', flags: 0, content: Buffer.from([0, 5, 22, 7]) },
    ])
    expect(await imported(ann, org, zip)).to.include({ state: 'done' })
    expect(Object.keys(await contentIn(ann, org))).to.have.members(['.', 'Übung.md'])
  })

  it.deep('may have names in the code page of old programs', async () => {
    const org = await newOrg()
    const zip = handMade([{ name: Buffer.from([0x9a, 0x62, 0x75, 0x6e, 0x67, 0x2e, 0x6d, 0x64]), flags: 0 }])
    expect(await imported(ann, org, zip)).to.include({ state: 'done' })
    expect(Object.keys(await contentIn(ann, org))).to.have.members(['.', 'Übung.md'])
  })

  it.deep('may have a file over 10 MiB, which is reported', async () => {
    const org = await newOrg()
    const zip = await zipOf({ 'a.md': '![big](big.bin)\n', 'big.bin': Buffer.alloc(10 * mebibyte + 1) })
    const { state, report } = await imported(ann, org, zip)
    expect({ state, problems: report?.problems }).to.deep.equal({
      state: 'done',
      problems: [{ path: 'big.bin', reason: 'is larger than 10 MiB (10.0 MiB)' }],
    })
  })
})

function many(count: number, make: (at: number) => HandMade): HandMade[] {
  return Array.from({ length: count }, (_, at) => make(at))
}
