/** Imports of folders of Markdown, and exports. */

import type { Handlers } from '../../http/contract/operations.ts'
import { Archive, createdAt } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { showExport } from './pages/export.tsx'
import { showImport, takeImport } from './pages/import.tsx'
import { showImportRun, takeImportRun } from './pages/import-run.tsx'
import { cancelImport, getImport, listImports, removeLeftUploads, startImport } from './uploads/requests.ts'
import { exportMyData, openExport } from './write/requests.ts'

const operations = {
  startImport: createdAt('/orgs/{org_id}/imports/{id}', startImport),
  listImports,
  getImport,
  cancelImport,
  exportOrg: async (ctx, { path, query: { format, under, where }, type }) => {
    const content = await openExport(ctx, path, { under, where })
    return new Archive(content, format ?? (type === 'application/zip' ? 'zip' : 'tar'))
  },
  exportMyData: async (ctx) => new Archive(exportMyData(ctx), 'zip'),
} satisfies Partial<Handlers>

export const vault = {
  operations,
  pages: [
    { at: '/o/{org}/export', show: showExport },
    { at: '/o/{org}/import', show: showImport, take: takeImport, isStreamed: true },
    { at: '/o/{org}/import/{id}', show: showImportRun, take: takeImportRun },
  ],
  jobs: () => [
    {
      chore: 'uploads',
      everyMs: 60_000,
      work: removeLeftUploads,
      failed: 'the archives of interrupted imports could not be removed',
    },
  ],
} satisfies Feature
