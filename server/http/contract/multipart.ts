/** Reads a form with files (multipart/form-data), of limited size, number and time. */

import busboy from 'busboy'
import type { Request, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import { reserveBody } from '../connection/memory-budget.ts'
import { readBytes } from './json.ts'

export interface SentFile {
  /** The name of the field. */
  readonly field: string
  /** The name that the browser sent, without folders. May be empty. */
  readonly name: string
  readonly bytes: Buffer
}

export interface SentForm {
  readonly fields: URLSearchParams
  readonly files: readonly SentFile[]
}

/** Limits of a form with files. `bytes` and `ms` are those of the whole body. */
const limits = { bytes: 12 * 1_048_576, ms: 120_000, files: 50, fields: 50, fieldBytes: 65_536 } as const

/** True if the request has a form with files. */
export function hasUploads(req: Request): boolean {
  return /^multipart\/form-data\s*;/i.test(req.headers['content-type'] ?? '')
}

/** @throws AppError too_large, request_timeout, bad_request, busy */
export async function readUploads(req: Request, res: Response): Promise<SentForm> {
  const body = await readBytes(req, { ...limits, hold: reserveBody(req, res, undefined) })
  const fields = new URLSearchParams()
  const files: SentFile[] = []
  await new Promise<void>((resolve, reject) => {
    const refuse = (what: string) => reject(new AppError('too_large', `The form has too many ${what}`))
    const parser = openParser(req)
    parser.on('field', (name, value, { nameTruncated, valueTruncated }) => {
      if (nameTruncated || valueTruncated) refuse('characters in a field')
      fields.append(name, value)
    })
    parser.on('file', (field, stream, { filename }) => {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => files.push({ field, name: filename ?? '', bytes: Buffer.concat(parts) }))
    })
    parser.on('filesLimit', () => refuse(`files. Send at most ${limits.files} at once`))
    parser.on('fieldsLimit', () => refuse('fields'))
    parser.on('partsLimit', () => refuse('parts'))
    parser.on('error', () => reject(badForm()))
    parser.on('close', resolve)
    parser.end(body)
  })
  return { fields, files }
}

/** @throws AppError bad_request: the content type names no boundary */
function openParser(req: Request): busboy.Busboy {
  try {
    return busboy({
      headers: req.headers,
      defParamCharset: 'utf8',
      limits: {
        ...{ files: limits.files, fields: limits.fields, parts: limits.files + limits.fields },
        ...{ fieldNameSize: 100, fieldSize: limits.fieldBytes, fileSize: limits.bytes },
      },
    })
  } catch {
    throw badForm()
  }
}

function badForm(): AppError {
  return new AppError('bad_request', 'The form was not sent completely. Send it again')
}
