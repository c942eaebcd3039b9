/** Generates client/operations.ts from an OpenAPI document. */

interface Media {
  readonly schema?: { readonly format?: string }
}

interface Response {
  readonly content?: Readonly<Record<string, Media>>
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
}

interface Document {
  readonly info: Readonly<Record<'x-revision', string>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const header = `/** Generated from openapi.yaml by npm run generate. Method and path of each operation, and operations that return bytes. */

`

export function operationsOf({ info, paths }: Document): string {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({ ...operation, place: `${method.toUpperCase()} ${path}` })),
  )
  const places = all.map(({ operationId, place }) => `  ${operationId}: '${place}',\n`).join('')
  const uploads = all.flatMap(({ operationId, requestBody }) => {
    const [type] = Object.keys(requestBody?.content ?? {})
    return type === undefined || type === 'application/json' ? [] : [`  ${operationId}: '${type}',\n`]
  })
  const streams = all.filter(answersBytes).map(({ operationId }) => `'${operationId}'`)
  return `${header}/** The revision of the API that this client was generated from. */\nexport const revision = '${info['x-revision']}'\n\nexport const operations = {\n${places}} as const\n\nexport const streams = [${streams.join(', ')}] as const\n\n/** The media types of bodies that are not JSON. */\nexport const uploads = {\n${uploads.join('')}} as const\n`
}

/** True if the operation returns only bytes. A typed client prefers JSON. Bytes of any type have no schema. */
function answersBytes({ responses }: Operation): boolean {
  const content = responses['200']?.content ?? {}
  if ('*/*' in content) return true
  return !('application/json' in content) && Object.values(content).some(({ schema }) => schema?.format === 'binary')
}
