/* SPDX-License-Identifier: MIT */
/*
 * A VFS between SQLite and the real one, for tests of what happens when the machine or the disk
 * fails. It keeps a log of all that changes files, from which the disk after a loss of power is
 * made up: what was synced is there; of what was written since, each sector of 512 bytes by chance.
 * And it fails the Nth call that may fail.
 *
 * Included by tests only. Not for threads.
 */
#ifndef DB_TEST_VFS_H
#define DB_TEST_VFS_H

#include "db/test_help.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>

enum { VFS_FILES_MAX = 16, VFS_SECTOR = 512 };

enum vfs_action { VFS_WRITE, VFS_TRUNCATE, VFS_SYNC, VFS_DELETE, VFS_MARK };

struct vfs_op {
	enum vfs_action action;
	int file; /* index of names; VFS_MARK: a number of the test's */
	int64_t offset, bytes;
	uint8_t *data;
};

struct test_vfs {
	sqlite3_vfs vfs; /* first */
	sqlite3_vfs *real;
	struct vfs_op *ops;
	size_t n, room;
	char *names[VFS_FILES_MAX];
	int n_names;
	bool logs;
	int64_t calls, fail_at; /* the call that fails first; 0 = none */
	bool fails_on;		/* all calls after it too, as on a full disk */
	bool kills;		/* the process, instead of failing */
	int fail_rc;
	bool no_shared_memory; /* as on a network file system */
};

struct test_file {
	sqlite3_file base; /* first */
	struct test_vfs *vfs;
	int name;
	sqlite3_file *real;
};

/* ------------------------------------------------------------------------------------- the log */

static inline void vfs_log(struct test_vfs *vfs, struct vfs_op op, const void *data)
{
	if (!vfs->logs)
		return;
	if (vfs->n == vfs->room) {
		vfs->room = vfs->room ? 2 * vfs->room : 1024;
		vfs->ops = realloc(vfs->ops, vfs->room * sizeof(op));
		if (!vfs->ops)
			abort();
	}
	if (data) {
		op.data = malloc((size_t)op.bytes + 1);
		if (!op.data)
			abort();
		memcpy(op.data, data, (size_t)op.bytes);
	}
	vfs->ops[vfs->n++] = op;
}

static inline int vfs_name(struct test_vfs *vfs, const char *path)
{
	for (int i = 0; i < vfs->n_names; i++)
		if (!strcmp(vfs->names[i], path))
			return i;
	if (vfs->n_names == VFS_FILES_MAX)
		abort();
	vfs->names[vfs->n_names] = strdup(path);
	return vfs->n_names++;
}

/* Whether this call is to fail. */
static inline bool vfs_fails(struct test_vfs *vfs)
{
	vfs->calls++;
	if (vfs->kills && vfs->calls == vfs->fail_at)
		raise(SIGKILL);
	return vfs->fail_at &&
	       (vfs->fails_on ? vfs->calls >= vfs->fail_at : vfs->calls == vfs->fail_at);
}

/* --------------------------------------------------------------------------------- file methods */

static inline int tf_close(sqlite3_file *file)
{
	struct test_file *f = (struct test_file *)file;
	int rc = f->real->pMethods ? f->real->pMethods->xClose(f->real) : SQLITE_OK;

	free(f->real);
	return rc;
}

static inline int tf_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 offset)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs))
		return SQLITE_IOERR_READ;
	return f->real->pMethods->xRead(f->real, to, bytes, offset);
}

static inline int tf_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs))
		return f->vfs->fail_rc;
	vfs_log(f->vfs, (struct vfs_op){ VFS_WRITE, f->name, offset, bytes, NULL }, data);
	return f->real->pMethods->xWrite(f->real, data, bytes, offset);
}

static inline int tf_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs))
		return SQLITE_IOERR_TRUNCATE;
	vfs_log(f->vfs, (struct vfs_op){ VFS_TRUNCATE, f->name, 0, bytes, NULL }, NULL);
	return f->real->pMethods->xTruncate(f->real, bytes);
}

static inline int tf_sync(sqlite3_file *file, int flags)
{
	struct test_file *f = (struct test_file *)file;

	(void)flags;
	if (vfs_fails(f->vfs))
		return SQLITE_IOERR_FSYNC;
	/* The real sync would only cost time. */
	vfs_log(f->vfs, (struct vfs_op){ .action = VFS_SYNC, .file = f->name }, NULL);
	return SQLITE_OK;
}

static inline int tf_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs))
		return SQLITE_IOERR_FSTAT;
	return f->real->pMethods->xFileSize(f->real, bytes);
}

static inline int tf_lock(sqlite3_file *file, int level)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs))
		return SQLITE_IOERR_LOCK;
	return f->real->pMethods->xLock(f->real, level);
}

static inline int tf_unlock(sqlite3_file *file, int level)
{
	struct test_file *f = (struct test_file *)file;

	return f->real->pMethods->xUnlock(f->real, level);
}

static inline int tf_reserved(sqlite3_file *file, int *yes)
{
	struct test_file *f = (struct test_file *)file;

	return f->real->pMethods->xCheckReservedLock(f->real, yes);
}

static inline int tf_control(sqlite3_file *file, int op, void *arg)
{
	struct test_file *f = (struct test_file *)file;

	return f->real->pMethods->xFileControl(f->real, op, arg);
}

static inline int tf_sector(sqlite3_file *file)
{
	(void)file;
	return VFS_SECTOR;
}

/* The disk promises nothing: no atomic writes, no order. */
static inline int tf_device(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static inline int tf_shm_map(sqlite3_file *file, int page, int bytes, int extend,
			     void volatile **out)
{
	struct test_file *f = (struct test_file *)file;

	if (vfs_fails(f->vfs) || f->vfs->no_shared_memory)
		return SQLITE_IOERR_SHMMAP;
	return f->real->pMethods->xShmMap(f->real, page, bytes, extend, out);
}

static inline int tf_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	struct test_file *f = (struct test_file *)file;

	if (!(flags & SQLITE_SHM_UNLOCK) && vfs_fails(f->vfs))
		return SQLITE_IOERR_SHMLOCK;
	return f->real->pMethods->xShmLock(f->real, offset, n, flags);
}

static inline void tf_shm_barrier(sqlite3_file *file)
{
	struct test_file *f = (struct test_file *)file;

	f->real->pMethods->xShmBarrier(f->real);
}

static inline int tf_shm_unmap(sqlite3_file *file, int delete)
{
	struct test_file *f = (struct test_file *)file;

	return f->real->pMethods->xShmUnmap(f->real, delete);
}

static const sqlite3_io_methods test_file_methods = {
	.iVersion = 2,
	.xClose = tf_close,
	.xRead = tf_read,
	.xWrite = tf_write,
	.xTruncate = tf_truncate,
	.xSync = tf_sync,
	.xFileSize = tf_size,
	.xLock = tf_lock,
	.xUnlock = tf_unlock,
	.xCheckReservedLock = tf_reserved,
	.xFileControl = tf_control,
	.xSectorSize = tf_sector,
	.xDeviceCharacteristics = tf_device,
	.xShmMap = tf_shm_map,
	.xShmLock = tf_shm_lock,
	.xShmBarrier = tf_shm_barrier,
	.xShmUnmap = tf_shm_unmap,
};

/* ---------------------------------------------------------------------------------- VFS methods */

static inline int tv_open(sqlite3_vfs *base, sqlite3_filename path, sqlite3_file *file, int flags,
			  int *out)
{
	struct test_vfs *vfs = (struct test_vfs *)base;
	struct test_file *f = (struct test_file *)file;
	int rc;

	memset(f, 0, sizeof(*f));
	if (vfs_fails(vfs))
		return SQLITE_CANTOPEN;
	f->real = calloc(1, (size_t)vfs->real->szOsFile);
	if (!f->real)
		return SQLITE_NOMEM;
	rc = vfs->real->xOpen(vfs->real, path, f->real, flags, out);
	if (rc != SQLITE_OK) {
		free(f->real);
		return rc;
	}
	f->vfs = vfs;
	f->name = vfs_name(vfs, path ? path : "temporary");
	f->base.pMethods = &test_file_methods;
	return SQLITE_OK;
}

static inline int tv_delete(sqlite3_vfs *base, const char *path, int sync)
{
	struct test_vfs *vfs = (struct test_vfs *)base;

	if (vfs_fails(vfs))
		return SQLITE_IOERR_DELETE;
	vfs_log(vfs, (struct vfs_op){ VFS_DELETE, vfs_name(vfs, path), 0, sync, NULL }, NULL);
	return vfs->real->xDelete(vfs->real, path, 0);
}

static inline int tv_access(sqlite3_vfs *base, const char *path, int flags, int *yes)
{
	struct test_vfs *vfs = (struct test_vfs *)base;

	if (vfs_fails(vfs))
		return SQLITE_IOERR_ACCESS;
	return vfs->real->xAccess(vfs->real, path, flags, yes);
}

static inline int tv_full_path(sqlite3_vfs *base, const char *path, int room, char *out)
{
	struct test_vfs *vfs = (struct test_vfs *)base;

	return vfs->real->xFullPathname(vfs->real, path, room, out);
}

/* Makes it the one that everybody uses. */
static inline struct test_vfs *test_vfs_start(void)
{
	struct test_vfs *vfs = calloc(1, sizeof(*vfs));

	if (!vfs || sqlite3_initialize() != SQLITE_OK)
		abort();
	vfs->real = sqlite3_vfs_find(NULL);
	vfs->vfs = *vfs->real;
	vfs->vfs.zName = "test";
	vfs->vfs.szOsFile = sizeof(struct test_file);
	vfs->vfs.xOpen = tv_open;
	vfs->vfs.xDelete = tv_delete;
	vfs->vfs.xAccess = tv_access;
	vfs->vfs.xFullPathname = tv_full_path;
	/* The other methods take the real VFS's private data along. */
	vfs->fail_rc = SQLITE_IOERR_WRITE;
	if (sqlite3_vfs_register(&vfs->vfs, 1) != SQLITE_OK)
		abort();
	return vfs;
}

static inline void test_vfs_stop(struct test_vfs *vfs)
{
	sqlite3_vfs_unregister(&vfs->vfs);
	sqlite3_vfs_register(vfs->real, 1);
}

static inline void test_vfs_free(struct test_vfs *vfs)
{
	for (size_t i = 0; i < vfs->n; i++)
		free(vfs->ops[i].data);
	for (int i = 0; i < vfs->n_names; i++)
		free(vfs->names[i]);
	free(vfs->ops);
	free(vfs);
}

/* -------------------------------------------------------------------- the disk after power loss */

struct disk_file {
	uint8_t *now, *durable; /* as the system saw it, and what is surely on the disk */
	size_t now_bytes, durable_bytes;
	bool exists, durably_exists;
	bool *touched; /* sectors written since the last sync */
	size_t sectors;
};

static inline void disk_resize(struct disk_file *file, size_t bytes)
{
	size_t sectors = (bytes + VFS_SECTOR - 1) / VFS_SECTOR;

	if (bytes > file->now_bytes) {
		file->now = realloc(file->now, bytes + 1);
		memset(file->now + file->now_bytes, 0, bytes - file->now_bytes);
	}
	if (sectors > file->sectors) {
		file->touched = realloc(file->touched, sectors * sizeof(bool));
		memset(file->touched + file->sectors, 0, (sectors - file->sectors) * sizeof(bool));
		file->sectors = sectors;
	}
	file->now_bytes = bytes;
}

static inline void disk_write(struct disk_file *file, const struct vfs_op *op)
{
	size_t end = (size_t)(op->offset + op->bytes);

	file->exists = true;
	if (end > file->now_bytes)
		disk_resize(file, end);
	memcpy(file->now + op->offset, op->data, (size_t)op->bytes);
	for (size_t s = (size_t)op->offset / VFS_SECTOR; s * VFS_SECTOR < end; s++)
		file->touched[s] = true;
}

static inline void disk_sync(struct disk_file *file)
{
	file->durable = realloc(file->durable, file->now_bytes + 1);
	if (file->now_bytes)
		memcpy(file->durable, file->now, file->now_bytes);
	file->durable_bytes = file->now_bytes;
	file->exists = true;
	if (file->sectors)
		memset(file->touched, 0, file->sectors * sizeof(bool));
}

/* What the folder says of all files is on the disk. */
static inline void disk_sync_folder(struct disk_file *files)
{
	for (int i = 0; i < VFS_FILES_MAX; i++) {
		files[i].durably_exists = files[i].exists;
		if (!files[i].exists)
			files[i].durable_bytes = 0;
	}
}

/* A deletion that is not synced can be lost, and so can a new file; SQLite syncs the folder with
 * the first sync of a new file, and after a deletion if asked to. */
static inline void disk_apply(struct disk_file *files, const struct vfs_op *op)
{
	struct disk_file *file = &files[op->file];
	bool is_new = !file->durably_exists;

	if (op->action == VFS_WRITE)
		disk_write(file, op);
	if (op->action == VFS_TRUNCATE)
		disk_resize(file, (size_t)op->bytes);
	if (op->action == VFS_SYNC)
		disk_sync(file);
	if (op->action == VFS_DELETE) {
		disk_resize(file, 0);
		file->exists = false;
	}
	if ((op->action == VFS_SYNC && is_new) || (op->action == VFS_DELETE && op->bytes))
		disk_sync_folder(files);
}

/* What a file is after the loss: each unsynced sector old or new, its size that of either. */
static inline void disk_lose(struct disk_file *file, struct test_random *random)
{
	size_t bytes = test_draw(random, 2) ? file->now_bytes : file->durable_bytes;
	uint8_t *after = calloc(1, bytes + VFS_SECTOR);

	for (size_t s = 0; s * VFS_SECTOR < bytes; s++) {
		size_t at = s * VFS_SECTOR, n = bytes - at < VFS_SECTOR ? bytes - at : VFS_SECTOR;
		bool fresh =
			at < file->now_bytes && (at >= file->durable_bytes || test_draw(random, 2));
		const uint8_t *from = fresh && test_draw(random, 8) ? file->now : file->durable;
		size_t limit = from == file->now ? file->now_bytes : file->durable_bytes;

		if (s < file->sectors && !file->touched[s] && at < file->durable_bytes)
			from = file->durable, limit = file->durable_bytes;
		if (at < limit)
			memcpy(after + at, from + at, limit - at < n ? limit - at : n);
	}
	free(file->now);
	file->now = after;
	file->now_bytes = bytes;
	file->exists = file->durably_exists || (file->exists && test_draw(random, 2));
}

/* The files after power was lost when `ops` of the log were done, by their names in another folder.
 */
static inline void test_vfs_lose_power(const struct test_vfs *vfs, size_t ops, const char *folder,
				       struct test_random *random)
{
	struct disk_file files[VFS_FILES_MAX] = { 0 };

	for (size_t i = 0; i < ops; i++)
		if (vfs->ops[i].action != VFS_MARK)
			disk_apply(files, &vfs->ops[i]);
	for (int i = 0; i < vfs->n_names; i++) {
		const char *name = strrchr(vfs->names[i], '/');
		char path[4096];
		FILE *out;

		snprintf(path, sizeof(path), "%s/%s", folder, name ? name + 1 : vfs->names[i]);
		unlink(path);
		disk_lose(&files[i], random);
		if (files[i].exists) {
			out = fopen(path, "w");
			if (!out ||
			    fwrite(files[i].now, 1, files[i].now_bytes, out) !=
				    files[i].now_bytes ||
			    fclose(out))
				abort();
		}
		free(files[i].now);
		free(files[i].durable);
		free(files[i].touched);
	}
}

#endif
