/** Reads the form of an import. Turns a folder into the ZIP that the operation takes. */

import { PassThrough, type Readable } from 'node:stream'
import busboy from 'busboy'
import { ZipFile } from 'yazl'
import { AppError, invalid } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import { isHiddenPath } from '../../../markdown/hidden-paths.ts'

export interface ImportForm {
  /** The fields before the first file. */
  readonly fields: URLSearchParams
  /** The ZIP, as it was sent or made of the folder. Undefined if no file was chosen. */
  readonly archive: Readable | undefined
  /** The name of the ZIP, without its ending; '' for a folder. */
  readonly name: string
}

/** The most fields, and bytes of a field. */
const formLimits = { fields: 20, fieldSize: 8_192 } as const

/**
 * Reads the form up to its first file. The archive is made while it is read.
 *
 * A folder is sent as one part for each file, whose file name is its path. Hidden files are not put into the archive.
 *
 * @param type the content type of the form
 * @throws AppError unsupported_media_type, too_large
 * @throws ValidationError for a broken form
 * @throws the errors of `source`
 */
export function readImportForm(type: string, source: Readable): Promise<ImportForm> {
  const parser = parserOf(type)
  const fields = new URLSearchParams()
  const archive = new PassThrough()
  // The operation reads its errors; nobody does after a refusal.
  archive.on('error', () => source.destroy())
  const folder = new ZipFile()
  let kind: 'zip' | 'folder' | undefined
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      reject(error)
      archive.destroy(error)
      source.destroy()
    }
    const begin = (name: string) => resolve({ fields, archive, name })
    parser.on('field', (name, value) => fields.append(name, value))
    parser.on('file', (field, content, { filename = '' }) => {
      // A part fails with the whole form.
      content.on('error', () => {})
      const path = filename.replaceAll('%22', '"')
      const isZip = field === 'zip'
      if (path === '' || (!isZip && isHiddenPath(belowTop(path)))) return void content.resume()
      if (kind === 'zip' || (isZip && kind !== undefined))
        return fail(invalid(['body'], 'Choose a folder or one .zip, not both'))
      const isFirst = kind === undefined
      kind = isZip ? 'zip' : 'folder'
      if (isZip) content.pipe(archive)
      else addTo(folder, content, path, fail)
      if (isFirst && !isZip) folder.outputStream.pipe(archive)
      if (isFirst) begin(isZip ? path.replace(/^.*[/\\]/, '').replace(/\.zip$/i, '') : '')
    })
    parser.on('close', () => {
      folder.end()
      resolve({ fields, archive: undefined, name: '' })
    })
    parser.on('filesLimit', () => fail(new AppError('too_large', 'The folder has too many files; import it in parts')))
    folder.on('error', fail)
    parser.on('error', () => fail(invalid(['body'], 'The form did not arrive completely; send it again')))
    source.on('error', fail)
    countBytes(source, fail)
    source.pipe(parser)
  })
}

function parserOf(type: string): busboy.Busboy {
  if (!/^multipart\/form-data\b/i.test(type))
    throw new AppError('unsupported_media_type', 'Send the form as multipart/form-data')
  try {
    return busboy({
      headers: { 'content-type': type },
      preservePath: true,
      defParamCharset: 'utf8',
      limits: { ...formLimits, files: limits.formFolderFiles },
    })
  } catch {
    throw new AppError('unsupported_media_type', 'The form has no boundary')
  }
}

/** Returns the path below the folder that was chosen, whose own name does not count. */
function belowTop(path: string): string {
  return path.slice(path.indexOf('/') + 1)
}

function addTo(folder: ZipFile, content: Readable, path: string, fail: (error: Error) => void): void {
  try {
    folder.addReadStream(content, path, { compress: false })
  } catch {
    fail(invalid(['body'], `The path ${JSON.stringify(path.slice(0, 200))} leads out of the folder`))
  }
}

function countBytes(source: Readable, fail: (error: Error) => void): void {
  let bytes = 0
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.formFolderBytes) fail(new AppError('too_large', 'The folder is over 1 GiB; import it in parts'))
  })
}
