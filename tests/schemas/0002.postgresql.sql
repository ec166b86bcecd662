SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.blobs (
    project_id bigint NOT NULL,
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    object_id bigint NOT NULL,
    start bigint NOT NULL
);
CREATE TABLE public.chunks (
    project_id bigint NOT NULL,
    id bytea NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.directories (
    project_id bigint NOT NULL,
    parent bytea NOT NULL,
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.edges (
    project_id bigint NOT NULL,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    action character varying(16) NOT NULL,
    job_id bigint,
    created_at bigint NOT NULL,
    CONSTRAINT ck_edges_acyclic CHECK ((source_id < target_id))
);
CREATE TABLE public.file_versions (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    file_id bigint NOT NULL,
    version integer NOT NULL,
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    content_type character varying(255),
    user_id bigint NOT NULL,
    created_at bigint NOT NULL,
    upload_id bigint NOT NULL
);
CREATE SEQUENCE public.file_versions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.file_versions_id_seq OWNED BY public.file_versions.id;
CREATE TABLE public.files (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    parent bytea NOT NULL,
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    latest integer NOT NULL,
    hidden boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');
CREATE SEQUENCE public.files_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.files_id_seq OWNED BY public.files.id;
CREATE TABLE public.job_inputs (
    project_id bigint NOT NULL,
    job_id bigint NOT NULL,
    set_version_id bigint NOT NULL
);
CREATE TABLE public.jobs (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    public_id character varying(32) NOT NULL,
    user_id bigint NOT NULL,
    name character varying(128),
    status character varying(16) NOT NULL,
    command text NOT NULL,
    submitted_at bigint NOT NULL,
    started_at bigint,
    ended_at bigint,
    runtime double precision,
    queue_time double precision,
    cost double precision,
    cpu double precision,
    memory bigint,
    gpu double precision,
    peak_memory bigint,
    cpu_seconds double precision,
    exit_code integer
);
CREATE SEQUENCE public.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.jobs_id_seq OWNED BY public.jobs.id;
CREATE TABLE public.meta_columns (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    kind smallint NOT NULL,
    name character varying(128) NOT NULL COLLATE pg_catalog."C",
    type smallint NOT NULL
);
CREATE SEQUENCE public.meta_columns_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.meta_columns_id_seq OWNED BY public.meta_columns.id;
CREATE TABLE public.meta_numbers (
    column_id bigint NOT NULL,
    value double precision NOT NULL,
    entity_id bigint NOT NULL
)
WITH (autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02');
CREATE TABLE public.meta_tags (
    column_id bigint NOT NULL,
    value character varying(128) NOT NULL COLLATE pg_catalog."C",
    entity_id bigint NOT NULL
)
WITH (autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02');
CREATE TABLE public.meta_texts (
    column_id bigint NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    whole text COLLATE pg_catalog."C",
    entity_id bigint NOT NULL
)
WITH (autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02');
CREATE TABLE public.objects (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    upload_id bigint NOT NULL,
    key character varying(255) NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    multipart_id character varying(1024),
    part_size bigint,
    stored boolean DEFAULT false NOT NULL,
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.objects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.objects_id_seq OWNED BY public.objects.id;
CREATE TABLE public.platform (
    key character varying(64) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.projects (
    id bigint NOT NULL,
    name character varying(63) NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.projects_id_seq OWNED BY public.projects.id;
CREATE TABLE public.set_versions (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    set_id bigint NOT NULL,
    version integer NOT NULL,
    root bytea NOT NULL,
    content bytea NOT NULL,
    file_count bigint NOT NULL,
    size bigint NOT NULL,
    first_path text NOT NULL COLLATE pg_catalog."C",
    last_path text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    job_id bigint,
    created_at bigint NOT NULL,
    removed_at bigint
);
CREATE SEQUENCE public.set_versions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.set_versions_id_seq OWNED BY public.set_versions.id;
CREATE TABLE public.sets (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name character varying(128) NOT NULL COLLATE pg_catalog."C",
    latest integer NOT NULL
);
CREATE SEQUENCE public.sets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.sets_id_seq OWNED BY public.sets.id;
CREATE TABLE public.staged_chunks (
    project_id bigint NOT NULL,
    id bytea NOT NULL,
    staged_at bigint NOT NULL
);
CREATE TABLE public.tokens (
    id bigint NOT NULL,
    lookup character varying(16) NOT NULL,
    hash character varying(64) NOT NULL,
    user_id bigint NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);
CREATE SEQUENCE public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;
CREATE TABLE public.upload_blobs (
    project_id bigint NOT NULL,
    upload_id bigint NOT NULL,
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    object_id bigint NOT NULL,
    start bigint NOT NULL
);
CREATE TABLE public.upload_files (
    project_id bigint NOT NULL,
    upload_id bigint NOT NULL,
    parent bytea NOT NULL,
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    content_type character varying(255)
);
CREATE TABLE public.uploads (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    public_id character varying(32) NOT NULL,
    user_id bigint NOT NULL,
    resume_key character varying(128),
    state character varying(16) NOT NULL,
    created_at bigint NOT NULL,
    touched_at bigint NOT NULL,
    ended_at bigint,
    swept_at bigint,
    file_count bigint NOT NULL,
    size bigint NOT NULL,
    made_after bigint DEFAULT '0'::bigint NOT NULL
);
CREATE SEQUENCE public.uploads_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.uploads_id_seq OWNED BY public.uploads.id;
CREATE TABLE public.users (
    id bigint NOT NULL,
    public_id character varying(32) NOT NULL,
    project_id bigint,
    name character varying(63) NOT NULL COLLATE pg_catalog."C",
    role character varying(16) NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint,
    CONSTRAINT ck_users_global_has_no_project CHECK ((((role)::text = 'global_admin'::text) = (project_id IS NULL)))
);
CREATE SEQUENCE public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.users_id_seq OWNED BY public.users.id;
ALTER TABLE ONLY public.file_versions ALTER COLUMN id SET DEFAULT nextval('public.file_versions_id_seq'::regclass);
ALTER TABLE ONLY public.files ALTER COLUMN id SET DEFAULT nextval('public.files_id_seq'::regclass);
ALTER TABLE ONLY public.jobs ALTER COLUMN id SET DEFAULT nextval('public.jobs_id_seq'::regclass);
ALTER TABLE ONLY public.meta_columns ALTER COLUMN id SET DEFAULT nextval('public.meta_columns_id_seq'::regclass);
ALTER TABLE ONLY public.objects ALTER COLUMN id SET DEFAULT nextval('public.objects_id_seq'::regclass);
ALTER TABLE ONLY public.projects ALTER COLUMN id SET DEFAULT nextval('public.projects_id_seq'::regclass);
ALTER TABLE ONLY public.set_versions ALTER COLUMN id SET DEFAULT nextval('public.set_versions_id_seq'::regclass);
ALTER TABLE ONLY public.sets ALTER COLUMN id SET DEFAULT nextval('public.sets_id_seq'::regclass);
ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);
ALTER TABLE ONLY public.uploads ALTER COLUMN id SET DEFAULT nextval('public.uploads_id_seq'::regclass);
ALTER TABLE ONLY public.users ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0002');
INSERT INTO public.platform VALUES ('started', '2026-01-01T00:00:00+00:00');
INSERT INTO public.projects VALUES (1, 'default', 1767225600000000);
INSERT INTO public.projects VALUES (2, 'vision', 1767225600000001);
INSERT INTO public.tokens VALUES (1, 'bcdfghjkmnpq', 'not-a-hash', 2, 1767225600000000, NULL);
INSERT INTO public.users VALUES (1, 'user-2345', NULL, 'admin', 'global_admin', 1767225600000000, NULL);
INSERT INTO public.users VALUES (2, 'user-6789', 2, 'dana', 'admin', 1767225600000000, NULL);
SELECT pg_catalog.setval('public.file_versions_id_seq', 1, false);
SELECT pg_catalog.setval('public.files_id_seq', 1, false);
SELECT pg_catalog.setval('public.jobs_id_seq', 1, false);
SELECT pg_catalog.setval('public.meta_columns_id_seq', 1, false);
SELECT pg_catalog.setval('public.objects_id_seq', 1, false);
SELECT pg_catalog.setval('public.projects_id_seq', 1, false);
SELECT pg_catalog.setval('public.set_versions_id_seq', 1, false);
SELECT pg_catalog.setval('public.sets_id_seq', 1, false);
SELECT pg_catalog.setval('public.tokens_id_seq', 1, false);
SELECT pg_catalog.setval('public.uploads_id_seq', 1, false);
SELECT pg_catalog.setval('public.users_id_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT pk_blobs PRIMARY KEY (project_id, sha256);
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT pk_chunks PRIMARY KEY (project_id, id);
ALTER TABLE ONLY public.directories
    ADD CONSTRAINT pk_directories PRIMARY KEY (project_id, parent, name);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT pk_edges PRIMARY KEY (project_id, target_id, source_id);
ALTER TABLE ONLY public.file_versions
    ADD CONSTRAINT pk_file_versions PRIMARY KEY (id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT pk_files PRIMARY KEY (id);
ALTER TABLE ONLY public.job_inputs
    ADD CONSTRAINT pk_job_inputs PRIMARY KEY (job_id, set_version_id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.meta_columns
    ADD CONSTRAINT pk_meta_columns PRIMARY KEY (id);
ALTER TABLE ONLY public.meta_numbers
    ADD CONSTRAINT pk_meta_numbers PRIMARY KEY (column_id, value, entity_id);
ALTER TABLE ONLY public.meta_tags
    ADD CONSTRAINT pk_meta_tags PRIMARY KEY (column_id, value, entity_id);
ALTER TABLE ONLY public.meta_texts
    ADD CONSTRAINT pk_meta_texts PRIMARY KEY (column_id, value, entity_id);
ALTER TABLE ONLY public.objects
    ADD CONSTRAINT pk_objects PRIMARY KEY (id);
ALTER TABLE ONLY public.platform
    ADD CONSTRAINT pk_platform PRIMARY KEY (key);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT pk_projects PRIMARY KEY (id);
ALTER TABLE ONLY public.set_versions
    ADD CONSTRAINT pk_set_versions PRIMARY KEY (id);
ALTER TABLE ONLY public.sets
    ADD CONSTRAINT pk_sets PRIMARY KEY (id);
ALTER TABLE ONLY public.staged_chunks
    ADD CONSTRAINT pk_staged_chunks PRIMARY KEY (project_id, id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);
ALTER TABLE ONLY public.upload_blobs
    ADD CONSTRAINT pk_upload_blobs PRIMARY KEY (upload_id, sha256, object_id);
ALTER TABLE ONLY public.upload_files
    ADD CONSTRAINT pk_upload_files PRIMARY KEY (upload_id, parent, name);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT pk_uploads PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);
ALTER TABLE ONLY public.file_versions
    ADD CONSTRAINT uq_file_versions_file_id_version UNIQUE (file_id, version);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT uq_files_project_id_parent_name UNIQUE (project_id, parent, name);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT uq_jobs_public_id UNIQUE (public_id);
ALTER TABLE ONLY public.meta_columns
    ADD CONSTRAINT uq_meta_columns_project_id_kind_name_type UNIQUE (project_id, kind, name, type);
ALTER TABLE ONLY public.objects
    ADD CONSTRAINT uq_objects_key UNIQUE (key);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT uq_projects_name UNIQUE (name);
ALTER TABLE ONLY public.set_versions
    ADD CONSTRAINT uq_set_versions_set_id_version UNIQUE (set_id, version);
ALTER TABLE ONLY public.sets
    ADD CONSTRAINT uq_sets_project_id_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT uq_tokens_lookup UNIQUE (lookup);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uq_uploads_public_id UNIQUE (public_id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_public_id UNIQUE (public_id);
CREATE INDEX ix_blobs_object_id ON public.blobs USING btree (object_id);
CREATE INDEX ix_edges_project_id_source_id ON public.edges USING btree (project_id, source_id);
CREATE INDEX ix_file_versions_project_id_created_at ON public.file_versions USING btree (project_id, created_at);
CREATE INDEX ix_file_versions_project_id_id ON public.file_versions USING btree (project_id, id);
CREATE INDEX ix_files_path_head ON public.files USING btree (project_id, "left"(path, 600)) WHERE (hidden IS FALSE);
CREATE INDEX ix_job_inputs_set_version_id ON public.job_inputs USING btree (set_version_id);
CREATE INDEX ix_jobs_project_id_id ON public.jobs USING btree (project_id, id);
CREATE INDEX ix_jobs_project_id_submitted_at ON public.jobs USING btree (project_id, submitted_at);
CREATE INDEX ix_meta_tags_entity ON public.meta_tags USING btree (entity_id, column_id);
CREATE INDEX ix_objects_upload_id ON public.objects USING btree (upload_id);
CREATE INDEX ix_set_versions_project_id_created_at ON public.set_versions USING btree (project_id, created_at);
CREATE INDEX ix_set_versions_project_id_id ON public.set_versions USING btree (project_id, id);
CREATE INDEX ix_tokens_user_id ON public.tokens USING btree (user_id);
CREATE INDEX ix_upload_blobs_object_id ON public.upload_blobs USING btree (object_id);
CREATE INDEX ix_uploads_unswept ON public.uploads USING btree (touched_at) WHERE (swept_at IS NULL);
CREATE UNIQUE INDEX uq_meta_numbers_entity ON public.meta_numbers USING btree (entity_id, column_id) INCLUDE (value);
CREATE UNIQUE INDEX uq_meta_texts_entity ON public.meta_texts USING btree (entity_id, column_id);
CREATE UNIQUE INDEX uq_uploads_resume ON public.uploads USING btree (project_id, user_id, resume_key) WHERE ((state)::text = 'pending'::text);
CREATE UNIQUE INDEX uq_users_global_admin ON public.users USING btree (role) WHERE ((role)::text = 'global_admin'::text);
CREATE UNIQUE INDEX uq_users_project_id_name ON public.users USING btree (project_id, name) WHERE (removed_at IS NULL);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT fk_edges_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT fk_edges_source_id FOREIGN KEY (source_id) REFERENCES public.set_versions(id);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT fk_edges_target_id FOREIGN KEY (target_id) REFERENCES public.set_versions(id);
ALTER TABLE ONLY public.job_inputs
    ADD CONSTRAINT fk_job_inputs_job_id FOREIGN KEY (job_id) REFERENCES public.jobs(id);
ALTER TABLE ONLY public.job_inputs
    ADD CONSTRAINT fk_job_inputs_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.job_inputs
    ADD CONSTRAINT fk_job_inputs_set_version_id FOREIGN KEY (set_version_id) REFERENCES public.set_versions(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT fk_jobs_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT fk_jobs_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.meta_columns
    ADD CONSTRAINT fk_meta_columns_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.objects
    ADD CONSTRAINT fk_objects_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.objects
    ADD CONSTRAINT fk_objects_upload_id FOREIGN KEY (upload_id) REFERENCES public.uploads(id);
ALTER TABLE ONLY public.set_versions
    ADD CONSTRAINT fk_set_versions_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.set_versions
    ADD CONSTRAINT fk_set_versions_set_id FOREIGN KEY (set_id) REFERENCES public.sets(id);
ALTER TABLE ONLY public.set_versions
    ADD CONSTRAINT fk_set_versions_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.sets
    ADD CONSTRAINT fk_sets_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.staged_chunks
    ADD CONSTRAINT fk_staged_chunks_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT fk_tokens_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT fk_uploads_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT fk_uploads_user_id FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT fk_users_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
